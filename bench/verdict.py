"""From a history to a verdict: pure, so that a saved history can be judged again without a queue."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.checks import Anomaly, Check
from bench.checks.always import progress, undisturbed
from bench.history import Event, is_complete


@dataclass(frozen=True)
class Verdict:
    """pass, fail (with anomalies), or inconclusive, unsupported, error (with the reason; error is not the queue's)."""

    verdict: str
    anomalies: tuple[Anomaly, ...] = ()
    reason: str = ""

    @property
    def names(self) -> set[str]:
        return {anomaly.name for anomaly in self.anomalies}


def judge(events: Sequence[Event], checks: Sequence[Check]) -> Verdict:
    """The verdict on one arm. Anything that makes the arm mean nothing comes before anything that a check finds."""
    trouble = next((event for event in events if event["event"] == "trouble"), None)
    if trouble:
        return Verdict("error", reason=f"{trouble['kind']}: {trouble['text']}")
    if not is_complete(events):
        at = f"at {events[-1]['t']:.2f} s, after {len(events)} events" if events else "before it began"
        return Verdict("inconclusive", reason=f"the history is cut {at}: it has no end")
    unsupported = next((event["reason"] for event in events if event["event"] == "unsupported"), "")
    if unsupported:
        return Verdict("unsupported", reason=unsupported)
    doubt = _broken_premise(events) or _without_receipt(events) or _stall(events)
    if doubt:
        return Verdict("inconclusive", reason=doubt)
    stuck = tuple(progress(events))
    if stuck:  # The script did not get to its end, so nothing that is missing from the history means anything.
        return Verdict("fail", stuck)
    sham = [] if events[0]["arm"]["fault"] else [undisturbed]
    anomalies = tuple(anomaly for check in (*sham, *checks) for anomaly in check(events))
    return Verdict("fail" if anomalies else "pass", anomalies)


def as_expected(verdict: Verdict, expected: str, also: Sequence[str] = ()) -> bool:
    """Whether an arm came out as it must: a pass, or a fail with the named anomaly and nothing that is not declared."""
    if expected == "pass":
        return verdict.verdict == "pass"
    return verdict.verdict == "fail" and expected in verdict.names and verdict.names <= {expected, *also}


def _broken_premise(events: Sequence[Event]) -> str:
    broken = (event for event in events if event["event"] == "premise" and not event["true"])
    return next((event["text"] or "a premise did not hold" for event in broken), "")


def _without_receipt(events: Sequence[Event]) -> str:
    steps = {event["step"]: f"{event['kind']} on {event['target']}" for event in events if event["event"] == "fault"}
    for event in events:
        if event["event"] == "no-receipt":
            return f"the fault {steps.get(event['step'], event['step'])} left no receipt: {event['why']}"
    receipts = {event["step"] for event in events if event["event"] == "receipt"}
    for event in events:
        if event["event"] == "fault" and event["injected"] and event["step"] not in receipts:
            return f"the fault {steps[event['step']]} left no receipt"
        if event["event"] == "fault" and events[0]["arm"]["fault"] and not event["injected"]:
            return f"the fault {steps[event['step']]} was not injected"
    stuck = any(event["event"] == "wait" and event["must"] and not event["came"] for event in events)
    return "" if steps or stuck else "the script came to no fault step"


def _stall(events: Sequence[Event]) -> str:
    margin = events[0]["margin"]
    worst = max((event["seconds"] for event in events if event["event"] == "stalled"), default=None)
    if worst is None:
        return "the bench did not measure its stalls"
    if worst > margin:
        return f"this machine stalled for {worst:.3f} s, and the arm has a margin of {margin:.3f} s"
    return ""
