"""What a subject says of itself, in words, and which anomaly shows that it does not keep it."""

from collections.abc import Collection, Mapping
from typing import Any

from bench.terms import Terms

BREAKS: Mapping[str, Collection[str]] = {
    "ownership": ("double-execution", "reclaimed-alive", "owner-evicted", "two-owners", "freed-at-death"),
    "fencing": ("stale-finish-accepted", "done-undone"),
    "reclaim": ("stranded", "slow-recovery"),
    "attempts": ("attempt-not-counted",),
    "drain": ("unclean-exit", "abandoned", "claimed-after-sigterm", "not-freed"),
    "max_attempts": ("endless", "unexplained-failure"),
    "grace": ("failed-by-deploys",),
    "deadline": ("stale-effect",),
    "idempotency": ("effect-twice",),
    "backoff": ("retried-early", "retry-storm", "thundering-herd"),
    "listen": ("slow-wake",),
    "queue": ("held-up",),
    "aging": ("starved",),
    "delay": ("early",),
    "key": ("duplicate-job", "swallowed"),
    "transaction": ("job-without-row", "row-without-job"),
    "version": ("unreadable",),
    "scheduler": ("duplicate-tick",),
    "stats": ("unseen", "false-alarm"),
    "purge": ("grows", "failure-forgotten", "unbounded-batch", "claims-blocked"),
}
"""What may be declared, and the anomalies that break it; from `max_attempts` on, what `options` may have."""

DEATHS = ("kill -9", "kill -9 of the child", "kill -9 of the parent", "poison", "immediate restart")
"""Faults that leave a job without an owner: what is stranded after any other was not for a reclaim to bring back."""

_BEATS = {"runtime": ", renewed by its runtime", "handler": ", renewed by the handler"}


def declared(describe: Mapping[str, Any], lease: float) -> dict[str, str]:
    """What a `describe` promises, each by the key that it has in BREAKS, as a sentence's end: "it declares ..."."""
    terms = Terms.of(describe, lease)
    said = {option: f"the option {option}" for option in describe.get("options", []) if option in BREAKS}
    if describe.get("ownership", "none") != "none":
        said["ownership"] = f"ownership {describe['ownership']}{_BEATS.get(describe.get('beats', ''), '')}"
    if "outcome" in terms.tells:
        said["fencing"] = "fencing: it tells a worker whether its finish was taken"
    if describe.get("reclaim", "none") != "none":
        said["reclaim"] = f"reclaim {describe['reclaim']}, an abandoned job back within {terms.recovery:g} s"
    if describe.get("attempts", "never") != "never":
        said["attempts"] = f"attempts counted at the {describe['attempts']}"
    if drain := describe.get("drain"):
        codes = ", ".join(map(str, drain.get("exit_codes", [])))
        said["drain"] = f"a drain by {drain.get('signal', 'SIGTERM')}, with exit code {codes}"
    return said


def not_kept(
    describe: Mapping[str, Any], lease: float, anomalies: Collection[str], faults: Collection[str]
) -> list[str]:
    """What it declares and did not keep, by the anomalies of an arm in which these kinds of faults were done."""
    broken = {key for key, names in BREAKS.items() if not set(names).isdisjoint(anomalies)}
    if set(DEATHS).isdisjoint(faults) and "slow-recovery" not in anomalies:
        broken.discard("reclaim")
    return [words for key, words in declared(describe, lease).items() if key in broken]
