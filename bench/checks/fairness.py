"""Does everybody get a share of the work?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly
from bench.events import ENDINGS
from bench.history import Event


def nobody_hoards(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`hoarded`: a worker held more than it has slots and prefetch for, while another had nothing to do.

    Who holds how many jobs is what the queue says (sample `held`: worker, jobs); who is idle is what the witness saw.
    """
    room: dict[str, int] = {}
    ready: dict[str, int] = {}
    running: dict[int, str] = {}
    for i, event in enumerate(events):
        match event["event"]:
            case "spawned" if "slots" in event["options"]:
                room[event["worker"]] = event["options"]["slots"] + event["options"]["prefetch"]
            case "ready":
                ready[event["worker"]] = i
            case "exited":
                ready.pop(event["worker"], None)
            case "started":
                running[event["execution"]] = event["worker"]
            case ending if ending in ENDINGS:
                running.pop(event["execution"], None)
            case "sample" if event["name"] == "held":
                idle = [worker for worker in ready if worker not in running.values()]
                for worker, held in event["rows"]:
                    others = [name for name in idle if name != worker]
                    if others and worker in room and int(held) > room[worker]:
                        text = f"{worker} held {held} jobs, with room for {room[worker]}, and {others[0]} was idle"
                        yield Anomaly("hoarded", text, (ready[others[0]], i))
            case _:
                pass
