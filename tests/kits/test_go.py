"""The Go kit."""

import pytest

from bench.orders import Order
from bench.witness import Desk
from tests.kits.cases import LONG, WHO, Cases, seen, sleep
from tests.kits.conftest import Kit, Start

IN = "cd '{here}/go' && go"


class TestGo(Cases):
    kit = Kit(
        worker=["{out}/worker"],
        control=["{out}/control"],
        build=[["sh", "-c", f"{IN} vet leaseproof ./..."], ["sh", "-c", f"{IN} build -o '{{out}}' ./..."]],
        programs={"go": "apt-get install golang-go"},
    )

    @pytest.mark.parametrize("order", [{"order": "hold"}, sleep(LONG)], ids=["hold", "sleep"])
    def test_a_job_whose_context_is_cancelled_ends(self, order: Order, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [order])
        worker = start(self.kit.worker, "run", "job")
        seen(desk, "ordered")
        worker.process.terminate()
        assert worker.hear()["end"] == "error"
        assert seen(desk, "died") == [WHO]
