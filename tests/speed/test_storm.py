"""The storm: sound workers come through it, and each way to break its promises is caught.

As a program it is a worker of a twin's: `python test_storm.py TWIN --name NAME ...`.
"""

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, LiteralString

import pytest

from bench.speed import storm
from bench.speed.books import Entry, Execution, broken, read_logs, repeated, taken_back
from bench.speed.figures import PromiseBroken
from bench.speed.ground import Ground
from bench.speed.handlers import Logged
from bench.speed.storm import Weather
from queue_core import Context, Job, Queue, Worker

LASTS = 0.02
"""Seconds of a job: so that whoever is paused is in the middle of one."""


class AnyoneCompletes(Queue):
    """Everything as in the sound queue, but a job may be finished whoever it belongs to by now."""

    COMPLETE: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET state = 'done', leased_by = NULL, leased_until = NULL, finished_at = now(), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id AND %(worker)s <> ''
        RETURNING own.id, own.claim
    """


class ClaimsWithoutLock(Queue):
    """Everything as in the sound queue, but a claim locks nothing, and does not look again at what it has found.

    It takes a moment between its look, which is of its snapshot, and its update, so that others come in between.
    """

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace("FOR UPDATE SKIP LOCKED", "").replace(
        "WHERE id = ANY", "WHERE (SELECT pg_sleep(0.02)) IS NOT NULL AND id = ANY"
    )


TWINS = {twin.__name__: twin for twin in (Queue, AnyoneCompletes, ClaimsWithoutLock)}

SQUALL = Weather(workers=3, lease=0.6, slots=4, prefetch=8, every=1.0, pause_each=1, pause=2.5)


def twins(twin: type[Queue]) -> Weather:
    """A small storm in which all strikes are pauses, over workers of a twin."""
    return replace(SQUALL, command=(sys.executable, __file__, twin.__name__))


def test_sound_workers_come_through_a_storm(tiny: Ground) -> None:
    figures = storm.storm(tiny, 500, replace(SQUALL, pause_each=2), seed=1)
    assert figures["jobs a second"] > 0
    assert 0 <= figures["repeated executions"] <= figures["jobs taken back"]


def test_so_do_they_where_jobs_last_and_all_strikes_are_pauses(tiny: Ground) -> None:
    figures = storm.storm(tiny, 400, twins(Queue), seed=1)
    assert figures["pauses"] > 0


@pytest.mark.parametrize(
    ("twin", "words"),
    [(AnyoneCompletes, "finished|became done"), (ClaimsWithoutLock, "while its lease was alive")],
)
def test_a_twin_is_caught(tiny: Ground, twin: type[Queue], words: str) -> None:
    with pytest.raises(PromiseBroken, match=words):
        storm.storm(tiny, 400, twins(twin), seed=1)


# The books, on small inputs: the smallest sane ones, and the smallest of each promise that is broken.

ONCE = Execution(1, 1, 1, start=10, end=20)
DONE = Entry(1, 1, "running", "done", "a", False)
BACK = Entry(1, 1, "running", "queued", "a", True)
LATER = Execution(1, 2, 2, start=30, end=40)
AFTER_ALL = Entry(1, 2, "running", "done", "b", False)


@pytest.mark.parametrize(
    ("executions", "entries"),
    [
        ([ONCE], [DONE]),
        ([ONCE, LATER], [BACK, AFTER_ALL]),
        ([LATER], [BACK, AFTER_ALL]),  # killed in the middle: nothing was written down of the first
        ([ONCE, LATER._replace(start=15)], [BACK, AFTER_ALL]),  # paused: the lease was over
    ],
)
def test_sane_books_break_nothing(executions: list[Execution], entries: list[Entry]) -> None:
    assert broken([(1, "done")], executions, entries) == []
    assert repeated(executions) == len(executions) - 1
    assert taken_back(entries) == [entry for entry in entries if entry is BACK]


@pytest.mark.parametrize(
    ("state", "executions", "entries", "words"),
    [
        ("queued", [], [], "lost: job 1 is queued in the end"),
        ("failed", [ONCE], [Entry(1, 1, "running", "failed", "a", True)], "lost: job 1 is failed in the end"),
        ("done", [], [DONE], "lost: job 1 is done, and nobody ran it"),
        ("done", [ONCE], [DONE, DONE], "doubled: job 1 was finished 2 times"),
        ("done", [ONCE], [DONE, Entry(1, 1, "done", "running", None, None)], "doubled: job 1 was done"),
        ("done", [ONCE], [BACK, Entry(1, 1, "queued", "done", None, None)], "doubled: job 1 was queued"),
        ("done", [ONCE], [BACK, AFTER_ALL], "doubled: claim 2 of job 1 was finished, and nobody had run that one"),
        ("done", [ONCE, LATER], [BACK._replace(expired=False), AFTER_ALL], "was ended while its lease was alive"),
        ("done", [ONCE, ONCE], [DONE], "doubled: claim 1 of job 1 was run 2 times"),
        ("done", [ONCE, LATER._replace(start=15)], [AFTER_ALL], "claims 1 and 2 of job 1 ran at once"),
    ],
)
def test_a_broken_promise_is_told(state: str, executions: list[Execution], entries: list[Entry], words: str) -> None:
    assert any(words in each for each in broken([(1, state)], executions, entries))


def test_a_line_that_a_kill_cut_short_is_none(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("1 1 1 10 20\n2 1 1 1")
    assert read_logs(tmp_path) == [ONCE]


def main() -> None:
    twin, *rest = sys.argv[1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("--name")
    for option, kind in (("lease", float), ("slots", int), ("prefetch", int)):
        parser.add_argument(f"--{option}", type=kind)
    options = parser.parse_args(rest)

    def work(job: Job, context: Context) -> None:
        time.sleep(LASTS)

    worker = Worker(os.environ["DATABASE_URL"], {"logged": Logged(work)}, queue_class=TWINS[twin], **vars(options))
    sys.exit(worker.run())


if __name__ == "__main__":
    main()
