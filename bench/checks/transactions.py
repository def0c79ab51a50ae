"""Does what was put in together, or under one key, come to what was meant?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event
from bench.waits import OVER


def both_or_neither(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`job-without-row`, `row-without-job`: of what one transaction wrote, only the job is there, or only the row.

    As the last sample `orders` has it: the name of each, the state of its job, and whether its row is there. A job that
    was begun was there, though its queue has no record of it any more.
    """
    begun = {event["job"] for _, event in of_kind(events, "started")}
    samples = [i for i, event in of_kind(events, "sample") if event["name"] == "orders"]
    for i in samples[-1:]:
        for name, row, job in events[i]["rows"]:
            if row != "there" and job != "absent":
                yield Anomaly(
                    "job-without-row", f"the job of {name} is {job}, and the row that it is for is not there", (i,)
                )
            elif row == "there" and job == "absent" and name not in begun:
                yield Anomaly("row-without-job", f"the row of {name} is there, and no job is", (i,))


def one_alive(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`duplicate-job`: two jobs of one key were alive at the same time, each enqueued and neither over."""
    alive: dict[str, tuple[str, int]] = {}
    keys: dict[str, str] = {}
    for i, event in enumerate(events):
        if event["event"] == "enqueued" and "key" in event:
            key = keys[event["job"]] = event["key"]
            if key in alive:
                job, since = alive[key]
                text = f"{event['job']} was put in under the key {key}, and {job}, of the same key, was not over"
                yield Anomaly("duplicate-job", text, (since, i))
            alive[key] = event["job"], i
        elif event["event"] == "finished" or (event["event"] == "row" and event["row"]["state"] in OVER):
            key = keys.get(event["job"], "")
            if alive.get(key, ("", 0))[0] == event["job"]:
                del alive[key]


def key_freed(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`swallowed`: an enqueue was answered with a job of its key that was over when it was asked for."""
    over: dict[str, int] = {}
    for i, event in enumerate(events):
        if event["event"] == "row" and event["row"]["state"] in OVER:
            over.setdefault(event["job"], i)
        elif event["event"] == "deduplicated" and event["to"] in over:
            shown = over[event["to"]]
            if events[shown]["t"] < event["asked"]:
                state = events[shown]["row"]["state"]
                text = f"nothing was put in for {event['job']}: the answer was {event['to']}, which was {state}"
                yield Anomaly("swallowed", text, (shown, i))
