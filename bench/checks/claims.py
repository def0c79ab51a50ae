"""Does a claim take what it should, and hold nothing open for it?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event


def within_room(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`over-claim`: a worker holds more jobs than it has room for (sample `held`: a worker, and how many it holds)."""
    room: dict[str, int] = {}
    for i, event in enumerate(events):
        if event["event"] == "spawned":
            options = event["options"]
            room[event["worker"]] = options.get("slots", 1) + options.get("prefetch", 0)
        elif event["event"] == "sample" and event["name"] == "held":
            for worker, held in event["rows"]:
                if worker in room and int(held) > room[worker]:
                    text = f"{worker} has room for {room[worker]}, and its claim took {held}"
                    yield Anomaly("over-claim", text, (i,))


def nothing_held_open(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`long-transaction`: one was open all the while a job ran (sample `open`: whose connection, and its state)."""
    for i, event in of_kind(events, "sample"):
        if event["name"] == "open":
            for connection, state, *_ in event["rows"]:
                text = f"{connection} has a transaction open ({state}) for as long as its job runs"
                yield Anomaly("long-transaction", text, (i,))
