"""What a control process answers, held against what is so."""

import re
from collections.abc import Callable, Sequence

from bench import waits
from bench.children import how
from bench.job import Job
from bench.lint.look import Look
from bench.subject import Control

COLUMNS = ("leased_by", "lease_alive", "attempt")
"""What any scenario may show of a row."""

INSPECT = "control, the answer to `inspect`"


def rows(look: Look, jobs: Sequence[Job]) -> None:
    """`inspect` of jobs that nobody has begun, in another order than theirs; and of one that never was."""
    found = look.run.rows(jobs[::-1])
    for row in [row for row in found if row["state"] != "queued"][:1]:
        look.findings.add(
            INSPECT,
            f"the row of {row['id']}, which nobody has begun, has the state {row['state']}",
            "`state` is `queued` from the enqueueing of a job until it is begun.",
            "map the queue's own states: whatever waits to be run, now or later, is `queued`",
        )
    columns = look.describe.get("columns", COLUMNS)
    for row in [row for row in found if row["state"] == "queued" and not row.keys() >= set(columns)][:1]:
        missing = [column for column in columns if column not in row]
        look.findings.add(
            INSPECT,
            f"a row has no {', '.join(missing)}",
            "A row has the columns that `describe` lists in `columns`; without a list, all that a scenario looks at.",
            f"give {' and '.join(missing)}, null where the queue can't tell; or list in `columns` what there is",
        )
    nobody = Job(look.run, "nobody", unknown(jobs[0].id, {job.id for job in jobs}))
    rule = "A job that is not there has a row, too: its state is `absent`."
    with look.excused(INSPECT, rule):
        state = nobody.row["state"]
        what = f"the row of {nobody.id}, which was never given out, has the state {state}"
        look.expect(state == "absent", INSPECT, what, rule, "answer `absent` where the queue has no record")


def statements(look: Look, job: Job) -> None:
    """`hold` locks a row, and `table` is there."""
    import psycopg  # late: only a queue on PostgreSQL has them

    describe = look.describe
    table = f"SELECT FROM {describe.get('table')} LIMIT 0"
    tried = [
        ("hold", "locks a job's row, by its id", describe.get("hold", ""), (job.id,), 1),
        ("table", "is one", table, (), 0),
    ]
    for field, rule, statement, values, least in tried:
        if field not in describe:
            continue
        try:
            with psycopg.connect(look.run.dsn) as connection:
                found = connection.execute(statement.encode(), values).rowcount
            wrong = f"for the job {job.id} it found {found} rows" if found < least else ""
        except psycopg.Error as error:
            wrong = str(error).strip()
        look.expect(not wrong, f"describe, `{field}`", wrong, f"`{field}` {rule}.", f"mend `{field}`, or leave it out")


def ends(look: Look, what: str, end: Callable[[Control], None]) -> None:
    """Another control process, beside the first, ends as it is told to."""
    stage = look.run._stage
    control = Control(stage.launch, stage.environment, stage.logs / "control-2.log")
    try:
        control.ask("describe")
        end(control)
        status = control.ended_within(waits.PATIENCE)
    finally:
        control.close()
    said = f"it was still there {waits.PATIENCE:g} s after" if status is None else f"it ended {how(status)} at"
    look.expect(
        status == 0,
        "control, its end",
        f"{said} {what}",
        "A control process ends when it is told `stop`, and when its stdin ends.",
        "close what keeps the process alive (connections, threads, timers), and return 0",
    )


def unknown(id: str, known: set[str]) -> str:
    """An id of the same form that was never given out: a far number, or one whose last characters are other ones."""
    if id.isdecimal():
        return str(int(id) + 1_000_000)
    other = id
    while other in known or other == id:
        turned = re.sub(r"[0-9A-Za-z](?=\W*(\w\W*){0,3}$)", _next, other)
        other = turned if turned != other else f"{other}0"
    return other


def _next(character: re.Match[str]) -> str:
    """The next of its kind; a hexadecimal digit stays one."""
    here = character[0]
    for kind in ("0123456789", "abcdef", "ABCDEF", "ghijklmnopqrstuvwxyz", "GHIJKLMNOPQRSTUVWXYZ"):
        if here in kind:
            return kind[(kind.index(here) + 1) % len(kind)]
    raise AssertionError(here)
