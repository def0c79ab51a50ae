"""What a storm did to the jobs, by two books that know nothing of each other; and which promises that breaks.

The workers write down what they ran, the database what it was told. What follows from both is decided here, with no
process and no clock.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import psycopg

BOOKS = """
    CREATE TABLE books (job bigint, claim bigint, was text, became text, worker text, expired boolean);
    CREATE FUNCTION keep_books() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO books
            SELECT id, before.claim, before.state, after.state, before.leased_by, before.leased_until < now()
            FROM before JOIN after USING (id)
            WHERE before.state <> 'queued' AND (after.state, after.claim) <> (before.state, before.claim)
                OR after.state = 'done';
            RETURN NULL;
        END
    $$;
    CREATE TRIGGER keep_books AFTER UPDATE ON jobs REFERENCING OLD TABLE AS before NEW TABLE AS after
        FOR EACH STATEMENT EXECUTE FUNCTION keep_books()
"""
"""The database writes down each finish, and each claim that ended otherwise, in the transaction that did it."""


class Execution(NamedTuple):
    """One run of a handler to its end. Times are monotonic, in ns."""

    job: int
    claim: int
    attempt: int
    start: int
    end: int


class Entry(NamedTuple):
    """One change that the database made to a job which somebody had claimed: `was` and `became` are its states.

    `claim` and `worker` are those that it had before; `expired`: whether their lease was over. It is None where the job
    was not running.
    """

    job: int
    claim: int
    was: str
    became: str
    worker: str | None
    expired: bool | None


def read_logs(folder: Path) -> list[Execution]:
    """What the workers wrote down; a line that a kill has cut short is none."""
    lines = (line for file in folder.iterdir() for line in file.read_text().splitlines(keepends=True))
    return [Execution(*map(int, line.split())) for line in lines if line.endswith("\n")]


def read_books(connection: psycopg.Connection) -> list[Entry]:
    """What the database wrote down."""
    return [Entry(*row) for row in connection.execute("SELECT * FROM books").fetchall()]


def taken_back(entries: Iterable[Entry]) -> list[Entry]:
    """Those by which a claim ended that its worker did not finish."""
    return [entry for entry in entries if entry.was == "running" and entry.became != "done"]


def repeated(executions: Collection[Execution]) -> int:
    """How many executions there were beyond the first of each job."""
    return len(executions) - len({execution.job for execution in executions})


def broken(states: Iterable[tuple[int, str]], executions: Collection[Execution], entries: Sequence[Entry]) -> list[str]:
    """The promises that were broken, each in words: none lost, none doubled.

    `states` are the jobs as the table has them in the end.
    """
    return [
        *_lost(list(states), executions),
        *_finished_twice(entries),
        *_finished_by_nobody(entries, executions),
        *_taken_from_the_living(entries),
        *_claims_run_twice(executions),
        *_overlaps(executions, entries),
    ]


def _lost(states: Sequence[tuple[int, str]], executions: Collection[Execution]) -> Iterator[str]:
    """A job that was put in is done in the end, and somebody ran it."""
    ran = {execution.job for execution in executions}
    for job, state in states:
        if state != "done":
            yield f"lost: job {job} is {state} in the end"
        elif job not in ran:
            yield f"lost: job {job} is done, and nobody ran it"


def _finished_twice(entries: Sequence[Entry]) -> Iterator[str]:
    """One finish of a job is accepted, of one that is running, and then it stays finished."""
    finishes = Counter(entry.job for entry in entries if entry.became == "done")
    for job, times in finishes.items():
        if times > 1:
            yield f"doubled: job {job} was finished {times} times"
    for entry in entries:
        if entry.was != "running":
            yield f"doubled: job {entry.job} was {entry.was}, and became {entry.became}"


def _finished_by_nobody(entries: Sequence[Entry], executions: Collection[Execution]) -> Iterator[str]:
    """The claim that is finished is one that was run to its end: no other worker's finish counts for it."""
    ran = {(execution.job, execution.claim) for execution in executions}
    for entry in entries:
        if entry.became == "done" and (entry.job, entry.claim) not in ran:
            yield f"doubled: claim {entry.claim} of job {entry.job} was finished, and nobody had run that one"


def _taken_from_the_living(entries: Sequence[Entry]) -> Iterator[str]:
    """Only a claim whose lease is over is ended by others; and no worker here gives one back."""
    for entry in taken_back(entries):
        if not entry.expired:
            yield f"doubled: claim {entry.claim} of job {entry.job} was ended while its lease was alive"


def _claims_run_twice(executions: Collection[Execution]) -> Iterator[str]:
    for (job, claim), times in Counter((each.job, each.claim) for each in executions).items():
        if times > 1:
            yield f"doubled: claim {claim} of job {job} was run {times} times"


def _overlaps(executions: Collection[Execution], entries: Sequence[Entry]) -> Iterator[str]:
    """Two run a job at the same moment only where the lease of the earlier claim was over."""
    over = {(entry.job, entry.claim) for entry in taken_back(entries) if entry.expired}
    by_job: dict[int, list[Execution]] = defaultdict(list)
    for execution in executions:
        by_job[execution.job].append(execution)
    for job, mine in by_job.items():
        for one, other in combinations(sorted(mine, key=lambda each: each.claim), 2):
            if one.start < other.end and other.start < one.end and (job, one.claim) not in over:
                yield f"doubled: claims {one.claim} and {other.claim} of job {job} ran at once, under a live lease"
