"""The Java kit."""

import pytest

from bench.orders import Order
from bench.witness import Desk
from tests.kits.cases import LONG, WHO, Cases, seen, sleep
from tests.kits.conftest import Kit, Start


class TestJava(Cases):
    kit = Kit(
        worker=["java", "-cp", "{out}", "Worker"],
        control=["java", "-cp", "{out}", "Control"],
        build=[
            [
                *("javac", "--release", "17", "-encoding", "UTF-8", "-Xlint:all,-serial", "-Werror", "-d", "{out}"),
                *("{kits}/java/Leaseproof.java", "{here}/java/Worker.java", "{here}/java/Control.java"),
            ]
        ],
        env={"LC_ALL": "C.UTF-8"},  # Java 17 reads its arguments and its environment by the locale.
        programs={"javac": "apt-get install default-jdk-headless"},
    )

    @pytest.mark.parametrize("order", [{"order": "hold"}, sleep(LONG)], ids=["hold", "sleep"])
    def test_a_job_whose_thread_is_interrupted_ends(self, order: Order, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [order])
        worker = start(self.kit.worker, "run", "job")
        seen(desk, "ordered")
        worker.process.terminate()
        assert worker.hear()["end"] == "error"
        assert seen(desk, "died") == [WHO]
