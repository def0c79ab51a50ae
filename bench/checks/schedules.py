"""Is what is meant for a time begun then, and once?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event

DRIFT = 0.01
"""The share by which a delay may differ that two clocks measure."""


def never_early(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`early`: a job was begun before its delay was over, counted from when its enqueue was asked for."""
    lease = events[0]["lease"]
    put_in = {event["job"]: i for i, event in of_kind(events, "enqueued") if "delay" in event}
    for i, start in of_kind(events, "started"):
        if start["job"] in put_in:
            asked = events[put_in[start["job"]]]
            after, delay = start["t"] - asked["asked"], asked["delay"] * lease
            if after < delay * (1 - DRIFT):
                text = f"{start['job']} was begun {after:.2f} s after it was put in, with a delay of {delay:.2f} s"
                yield Anomaly("early", text, (put_in[start["job"]], i))


def one_job_a_tick(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`duplicate-tick`: two jobs were begun for one tick of a schedule; a later attempt of one job is no other."""
    begun: dict[tuple[str, str], int] = {}
    for i, event in of_kind(events, "started"):
        if "tick" in event and event["attempt"] in (1, None):
            tick = event["job"], event["tick"]
            if tick in begun:
                text = f"two jobs were begun for the tick {event['tick']} of {event['job']}"
                yield Anomaly("duplicate-tick", text, (begun[tick], i))
            begun.setdefault(tick, i)
