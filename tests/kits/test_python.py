"""The Python kit, in threads and in asyncio, and the smallest adapter that docs/protocol.md makes of it."""

import ast
import asyncio
import contextlib
import pickle
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.contract import check_describe, check_enqueue, check_inspect
from bench.kits.python import leaseproof_kit as kit
from bench.orders import BORROW, FINISH, effect, fail
from bench.witness import Desk, Witness
from tests.kits.cases import WHO, Cases, effects, seen
from tests.kits.conftest import HERE, KITS, PATIENCE, WORKER, Kit, Program, Start

FILE = KITS / "python" / "leaseproof_kit.py"

ENV = {"PYTHONPATH": "{kits}/python"}


class TestThreads(Cases):
    kit = Kit(
        worker=[sys.executable, "{here}/python/worker.py"],
        control=[sys.executable, "{here}/python/control.py"],
        env=ENV,
    )


class TestAsyncio(Cases):
    kit = Kit(
        worker=[sys.executable, "{here}/python/worker_async.py"],
        control=[sys.executable, "{here}/python/control_async.py"],
        env=ENV,
        loop=True,
    )


def test_it_is_python_3_9() -> None:
    ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_it_needs_the_standard_library_alone() -> None:
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_an_ordered_failure_gets_through_to_another_process() -> None:
    failure = pickle.loads(pickle.dumps(kit.OrderedFailure("rate-limited", "slow down", 1.5)))
    assert (failure.kind, str(failure), failure.retry_in) == ("rate-limited", "slow down", 1.5)


# In asyncio alone.


@pytest.fixture
def _env(witness: Witness, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEPROOF_WITNESS", witness.address)
    monkeypatch.setenv("LEASEPROOF_TOKEN", desk.token)
    monkeypatch.setenv("LEASEPROOF_WORKER", WORKER)


@pytest.mark.usefixtures("_env")
def test_a_task_that_is_cancelled_is_a_death(desk: Desk) -> None:
    async def main() -> None:
        task = asyncio.create_task(kit.obey_async("job"))
        await asyncio.to_thread(seen, desk, "started")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen(desk, "died") == [WHO]


@pytest.mark.usefixtures("_env")
def test_a_puppet_in_asyncio_takes_plain_contexts_too(desk: Desk) -> None:
    said: list[str] = []

    @contextlib.contextmanager
    def context(name: str = "connection") -> Iterator[bool]:
        said.append(name)
        yield True
        said.append(f"{name} is over")

    desk.plan(["job"], [BORROW, effect("mail", "once"), FINISH])
    asyncio.run(kit.obey_async("job", 1, kit.Tools(once=context, connection=context)))
    assert seen(desk, "finished") == [WHO]
    assert effects(desk) == [("effect", "mail", None)]
    assert said == ["connection", "mail", "mail is over", "connection is over"]


# The smallest adapter.


class TestTheSmallestAdapter:
    """It is run as it stands in docs/protocol.md, with a queue that is called as it calls one."""

    kit = Kit(
        worker=[sys.executable, "{out}/adapter.py", "worker"],
        control=[sys.executable, "{out}/adapter.py", "control"],
        build=[["cp", "{kits}/python/leaseproof_kit.py", "."]],
        env={"PYTHONPATH": "{here}/python", "PYTHONSAFEPATH": "1"},
    )

    @pytest.fixture(autouse=True)
    def _adapter(self, built: dict[str, str]) -> None:
        text = (HERE.parents[1] / "docs" / "protocol.md").read_text(encoding="utf-8")
        (code,) = re.findall("```python\n(.*?)```", text.partition("\n## Kits\n")[2], re.DOTALL)
        Path(built["{out}"], "adapter.py").write_text(code, encoding="utf-8")

    def test_it_keeps_the_contract(self, start: Start, desk: Desk, tmp_path: Path) -> None:
        services = {"LEASEPROOF_POSTGRES": str(tmp_path / "jobs.sqlite")}
        control = start(self.kit.control, **services)
        check_describe(ask(control, "describe"))
        assert ask(control, "prepare") == {}
        put = ask(control, "enqueue", jobs=[{"job": "good"}, {"job": "bad"}])
        check_enqueue(put, 2)
        desk.plan(["bad"], [fail("no paper")])
        worker = start(self.kit.worker, **services)
        assert seen(desk, "ready") == [{"worker": WORKER, "pid": worker.pid}]
        assert seen(desk, "started")[0]["job"] == "good"
        assert self.states(control, put["ids"]) == ["running", "queued"]
        desk.tell("good", FINISH)
        assert seen(desk, "raised")[0]["error"] == "no paper"
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(PATIENCE) == 0
        assert self.states(control, put["ids"]) == ["done", "failed"]
        assert self.states(control, ["17"]) == ["absent"]
        assert ask(control, "reclaim") == {"ids": []}
        assert ask(control, "stop") == {}

    def states(self, control: Program, ids: list[str]) -> list[str]:
        answer = ask(control, "inspect", ids=ids)
        check_inspect(answer, ids)
        return [row["state"] for row in answer["rows"]]


def ask(control: Program, request: str, **fields: Any) -> dict[str, Any]:
    control.say(id=1, request=request, **fields)
    answer: dict[str, Any] = control.hear()["answer"]
    return answer
