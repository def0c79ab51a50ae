"""How far a run is: its arms, what has come out of them, and about how much longer it takes."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.text import Text

from reports.signs import Signs, cut, fit, side_by_side, sign_of

LEAST_ARMS = 10
LEAST_SECONDS = 10.0
"""What must have been run, and for how long, before a word is said on the time left."""

LATELY = 60.0
"""Seconds over which it is forgotten how many were under way at once: at the end there are fewer than before."""

BAR = range(10, 41)
"""Columns of the bar: it needs so many, and takes no more than so many."""

History = list[dict[str, Any]]


@dataclass
class Arm:
    """An arm of the run: of its last try when it `began` (seconds of the clock), and in the end what it `took`."""

    name: str
    id: str
    began: float | None = None
    took: float | None = None
    verdict: str = ""
    as_expected: bool = True
    history: Callable[[], History] | None = None

    @property
    def is_over(self) -> bool:
        return self.took is not None

    @property
    def is_running(self) -> bool:
        return self.began is not None and self.took is None


def parts(name: str) -> tuple[str, str, str]:
    """The subject, its profile and the scenario that an arm is of, by the name that a watcher is told.

    That is "heartbeat", "queue_core heartbeat" or "pgmq tuned heartbeat": what it lacks is empty.
    """
    *whose, scenario = name.rsplit(" ", 2)
    subject, profile = [*whose, "", ""][:2]
    return subject, profile, scenario


@dataclass
class _Kind:
    """Arms that take about as long as one another: how many wait, are over and were run, and all their seconds."""

    waiting: int = 0
    over: int = 0
    ran: int = 0
    seconds: float = 0.0

    def add(self, other: _Kind) -> None:
        self.over += other.over
        self.ran += other.ran
        self.seconds += other.seconds


@dataclass
class Progress:
    """The arms of a plan, which are told here when they start and end. Times are seconds of one clock.

    Who changes it, or reads more of it than one arm, holds its `lock`.
    """

    plan: Sequence[tuple[str, str]]
    since: float
    arms: dict[tuple[str, str], Arm] = field(default_factory=dict)
    running: dict[tuple[str, str], float] = field(default_factory=dict)
    """When each that is under way was first begun."""
    done: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    """How often anything has changed, by scenario."""
    _kinds: dict[tuple[str, str], _Kind] = field(default_factory=dict)
    _outcomes: Counter[tuple[str, bool]] = field(default_factory=Counter)
    _first: float | None = None
    _lately: float = 0.0
    _changed: float = 0.0

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.single = len({name for name, _ in self.plan}) == 1
        for name, id_ in self.plan:
            self._arm(name, id_)

    def _arm(self, name: str, id_: str) -> Arm:
        if (name, id_) not in self.arms:
            self.arms[name, id_] = Arm(name, id_)
            self._kind(name).waiting += 1
        return self.arms[name, id_]

    def _kind(self, name: str) -> _Kind:
        """Those of a scenario in a profile: a queue's own defaults may take it ten times as long."""
        return self._kinds.setdefault(parts(name)[1:], _Kind())

    def started(self, name: str, id_: str, history: Callable[[], History], now: float) -> None:
        """An arm begins, or begins again."""
        arm = self._arm(name, id_)
        self._lately, self._changed = self._at_once(now), now
        arm.began = now
        if self.single:  # of a thousand arms, the histories are more than one should keep
            arm.history = history
        if (name, id_) not in self.running:
            self._kind(name).waiting -= 1
            self.running[name, id_] = now
        if self._first is None:
            self._first = now
        self.changes[parts(name)[2]] += 1

    def ended(self, name: str, id_: str, verdict: str, as_expected: bool, now: float) -> Arm:
        """An arm has its verdict; of one that was never begun it was known beforehand."""
        arm = self._arm(name, id_)
        self._lately, self._changed = self._at_once(now), now
        arm.took = now - (now if arm.began is None else arm.began)
        arm.verdict, arm.as_expected = verdict, as_expected
        kind, first = self._kind(name), self.running.pop((name, id_), None)
        if first is None:
            kind.waiting -= 1
            kind.over += verdict != "error"  # a subject on which nothing can be run says nothing of the others
        else:
            kind.add(_Kind(over=1, ran=1, seconds=now - first))
        self.done += 1
        self._outcomes[verdict, as_expected] += 1
        self.changes[parts(name)[2]] += 1
        return arm

    def _at_once(self, now: float) -> float:
        """How many were under way at once of late: the mean, in which what was counts less with each second."""
        kept = math.exp((self._changed - now) / LATELY)
        return kept * self._lately + (1 - kept) * len(self.running)

    def left(self, now: float) -> float | None:
        """About how many seconds are left; None as long as there is nothing to tell it by.

        From what an arm of its scenario and profile has taken on average: where it was not run, that is nothing; and
        from how many were under way at once, in all and of late, whichever was less. Those that are still under way
        count with their time so far, or else all that is known would be of the short ones.
        """
        kinds = {key: replace(kind) for key, kind in self._kinds.items()}
        for (name, _), first in self.running.items():
            kinds[parts(name)[1:]].seconds += now - first
        profiles: dict[str, _Kind] = {}
        for (profile, _), kind in kinds.items():
            profiles.setdefault(profile, _Kind()).add(kind)
        spent = sum(kind.seconds for kind in profiles.values())
        ran = sum(kind.ran for kind in profiles.values())
        elapsed = 0.0 if self._first is None else now - self._first
        if ran < LEAST_ARMS or elapsed < LEAST_SECONDS or spent <= 0:
            return None
        todo = longest = 0.0
        for key, kind in kinds.items():
            known = kind if kind.over else profiles[key[0]]
            if kind.waiting and not known.over:
                return None
            todo += kind.waiting * known.seconds / max(known.over, 1)
        for name, _ in self.running:
            known = kinds[parts(name)[1:]]
            more = known.seconds / max(known.ran, 1)
            todo, longest = todo + more, max(longest, more)
        lately = self._at_once(now) / (1 - math.exp(-elapsed / LATELY))  # as if it had always been so before it began
        return max(todo / max(min(spent / elapsed, lately), 0.1), longest)

    def line(self, width: int, now: float, sign: Signs) -> Text:
        """The progress in one line."""
        share = self.done / max(len(self.arms), 1)
        head, left = f"  {self.done} of {len(self.arms)} arms", self.left(now)
        words = [
            f"{int(share * 100)} %",
            took(now - self.since),
            f"about {about(left)} left" if left is not None else "",
        ]
        while sum(3 + len(word) for word in words if word) > width - len(head) and any(words[:2]):
            words[1 if words[1] else 0] = ""  # the time left is what one looks for
        line = Text(fit(head, width, sign), "bold", no_wrap=True)
        line.append("".join(f"   {word}" for word in words if word), "not bold")
        room = width - line.cell_len - 3
        if room >= BAR.start:
            bar = min(room, BAR.stop - 1)
            full = int(bar * share)
            line.append("   ", "not bold").append(sign.passed * full, "not bold cyan")
            line.append(sign.axis * (bar - full), "not bold dim")
        return cut(line, width, sign)

    def tally(self, width: int, sign: Signs, more: Sequence[str] = ()) -> list[Text]:
        """How many came out how, which is at once what the signs mean; `more` is added to it."""
        counts: Counter[tuple[str, str]] = Counter()
        for (verdict, as_expected), count in self._outcomes.items():
            counts[sign_of(verdict, as_expected, sign)] += count
        running = len(self.running)
        counts[sign.running, "cyan"] = running
        counts[sign.waiting, "dim"] = len(self.arms) - self.done - running
        meanings = {
            sign.ok: "as expected",
            sign.bad: "not as expected",
            sign.unsure: "no verdict",
            sign.absent: "unsupported",
            sign.error: "error",
            sign.running: "running",
            sign.waiting: "waiting",
        }
        styles = dict(counts.keys())
        words = [
            Text.assemble((mark, styles[mark]), f" {counts[mark, styles[mark]]} ", (meaning, "dim"))
            for mark, meaning in meanings.items()
            if mark in styles and counts[mark, styles[mark]]
        ]
        return side_by_side([*words, *(Text(word, "dim") for word in more)], width, sign)


def took(seconds: float) -> str:
    """A time that has passed."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole // 60 % 60} min"


def about(seconds: float) -> str:
    """A time that is estimated, and no more exact than that."""
    if seconds < 90:
        return f"{max(round(seconds / 10), 1) * 10} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    tens = round(seconds / 600)
    return f"{tens // 6} h {tens % 6 * 10} min" if tens % 6 else f"{tens // 6} h"
