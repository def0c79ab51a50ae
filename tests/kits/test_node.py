"""The Node kit."""

from bench.witness import Desk
from tests.kits.cases import Cases, seen
from tests.kits.conftest import PATIENCE, WORKER, Kit, Start


class TestNode(Cases):
    kit = Kit(
        worker=["node", "{here}/node/worker.js"],
        control=["node", "{here}/node/control.js"],
        env={"NODE_PATH": "{kits}/node"},
        loop=True,
        programs={"node": "apt-get install nodejs (18 or newer)"},
    )

    def test_its_line_keeps_no_process_alive_that_has_nothing_else_to_do(self, start: Start, desk: Desk) -> None:
        worker = start(["node", "-e", "require('leaseproof').ready()"])
        assert worker.process.wait(PATIENCE) == 0
        assert seen(desk, "ready") == [{"worker": WORKER, "pid": worker.pid}]

    def test_it_stops_whatever_its_client_holds_open(self, start: Start) -> None:
        client = "require('node:net').createServer().listen(0, '127.0.0.1')"
        control = start(["node", "-e", f"{client}; require('leaseproof').control({{}})"])
        control.say(id=1, request="stop")
        assert control.hear() == {"id": 1, "answer": {}}
        assert control.process.wait(PATIENCE) == 0
