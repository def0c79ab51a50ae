"""Do alarms ring when a promise is broken, and only then?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly
from bench.history import Event


def alarms_ring_true(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`unseen`, `false-alarm`: no alarm rang for a promise that was broken, or one rang and no such one was.

    What is broken the bench reads from the table itself, just before and just after it asks for the alarms (sample
    `figures`: one row, with a column for each limit). A limit that was passed in only one of the two is not judged.
    """
    before = asked = None
    for i, event in enumerate(events):
        if event["event"] == "answered" and event["request"] == "stats":
            asked = i
        elif event["event"] == "sample" and event["name"] == "figures":
            if before is not None and asked is not None:
                yield from _judged(events, before, asked, i)
            before, asked = i, None


def _judged(events: Sequence[Event], before: int, asked: int, after: int) -> Iterator[Anomaly]:
    limits, alarms = events[asked]["limits"], events[asked]["answer"]["alarms"]
    ringing = {alarm.partition(":")[0]: alarm for alarm in alarms}
    passed = [{name for name in limits if _figure(events[i], name) > limits[name]} for i in (before, after)]
    for name in limits:
        if name in passed[0] & passed[1] and name not in ringing:
            text = f"{name} is {_figure(events[before], name):g}, more than {limits[name]:g}, and no alarm rings for it"
            yield Anomaly("unseen", text, (before, asked))
    for name, alarm in ringing.items():
        if name not in passed[0] | passed[1]:
            yield Anomaly("false-alarm", f"an alarm rings and no such promise is broken: {alarm}", (before, asked))


def _figure(look: Event, name: str) -> float:
    """A figure as the bench read it; one that there is not is below every limit."""
    ((*values,),) = look["rows"]
    return float(dict(zip(look["columns"], values, strict=True))[name] or "-inf")
