"""The last look at a queue waits for the witness: a finish may be in the row before its word has been read."""

import threading
from types import SimpleNamespace
from typing import Any, cast

from bench.events import all_finished
from bench.history import History
from bench.job import Job
from bench.script import Run
from bench.terms import Terms
from tests.bench.histories import Run as Execution
from tests.bench.histories import event

job = Execution(1, "A")


class Done:
    """A control process that says of every job that it is done."""

    def ask(self, request: str, ids: list[str], **_: Any) -> dict[str, Any]:
        return {"rows": [{"id": id, "state": "done"} for id in ids]}


def settled(history: History, lease: float) -> Run:
    stage = cast(Any, SimpleNamespace(lease=lease, knob=None))
    run = Run(stage, history, cast(Any, None), cast(Any, Done()), {"slack": 0.0}, Terms.of({}, lease))
    run._jobs = [Job(run, "job", "1")]
    run.settle()
    return run


def add(history: History, told: dict[str, Any]) -> None:
    history.add(told["event"], **{key: value for key, value in told.items() if key != "event"})


def test_a_finish_that_is_read_a_moment_later_is_waited_for() -> None:
    history = History()
    add(history, job.started)
    late = threading.Timer(0.05, add, (history, job.finished))
    late.start()
    settled(history, lease=60.0)
    assert all_finished(history.events(), {"job"})
    late.join()


def test_one_that_never_comes_is_not_waited_for_beyond_what_a_machine_may_stall() -> None:
    history = History()
    add(history, event("enqueued", job="job", id="1", role="job"))
    settled(history, lease=0.06)
    assert not all_finished(history.events(), {"job"})
