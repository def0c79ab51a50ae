"""Every check on the smallest sane and the smallest pathological histories, and on what is easily mistaken.

In a history the header has position 0, so the first event of a case has position 1.
"""

import importlib
import inspect
import pkgutil
import re

import pytest

from bench import checks
from bench.checks import Check, base
from bench.checks.always import progress, undisturbed
from bench.checks.base import Execution, executions
from bench.checks.ending import attempts_counted, nothing_lost, recovered
from bench.checks.fencing import late_finish_refused, one_owner
from bench.checks.ownership import handed_out_once, held_by_state, no_overlap
from bench.checks.rows import schema_refuses
from bench.checks.stopping import clean_exit, no_start_after_sigterm, served_to_the_end, unstarted_freed
from bench.checks.world import effect_once
from bench.history import Event
from tests.bench import cases
from tests.bench.cases import Case, sane, wrong
from tests.bench.histories import (
    KILLED,
    QUEUED,
    TERM,
    Run,
    enqueued,
    exited,
    history,
    injected,
    receipt,
    reclaimed,
    row,
    spawned,
    wait,
)

a, b, c = Run(1, "A"), Run(2, "B"), Run(3, "C")
other = Run(2, "B", "other")
again = Run(2, "A")


def unnumbered(event: Event) -> Event:
    """The event as it comes from a subject that does not tell attempts."""
    return {**event, "attempt": None}


NO_OVERLAP = [
    sane(no_overlap, "one execution", [QUEUED, a.started, a.finished]),
    sane(no_overlap, "nothing was started", [QUEUED]),
    sane(no_overlap, "back to back", [a.started, a.finished, b.started, b.finished]),
    sane(no_overlap, "a re-run after a death", [a.started, a.died, b.started, b.finished]),
    sane(no_overlap, "a retry after an error", [a.started, a.raised, again.started, again.finished]),
    sane(no_overlap, "two jobs at once", [a.started, other.started, a.finished, other.finished]),
    sane(no_overlap, "the second is still running", [a.started, a.finished, b.started]),
    wrong(
        no_overlap, "two at once", [QUEUED, a.started, b.started, a.finished, b.finished], ("double-execution", 2, 3)
    ),
    wrong(
        no_overlap, "one within the other", [a.started, b.started, b.finished, a.finished], ("double-execution", 1, 2)
    ),
    wrong(no_overlap, "neither has ended", [a.started, b.started], ("double-execution", 1, 2)),
    wrong(
        no_overlap,
        "two slots of one worker",
        [a.started, again.started, a.finished, again.finished],
        ("double-execution", 1, 2),
    ),
    wrong(
        no_overlap,
        "a reclaim between excuses no overlap",
        [a.started, reclaimed("job", since=1), b.started, a.died, b.finished],
        ("double-execution", 1, 3),
    ),
    wrong(
        no_overlap,
        "three at once are three pairs",
        [a.started, b.started, c.started],
        ("double-execution", 1, 2),
        ("double-execution", 1, 3),
        ("double-execution", 2, 3),
    ),
    wrong(
        no_overlap,
        "the first and the third",
        [a.started, b.started, b.finished, c.started, a.finished, c.finished],
        ("double-execution", 1, 2),
        ("double-execution", 1, 4),
    ),
]

HANDED_OUT_ONCE = [
    sane(handed_out_once, "one execution", [QUEUED, a.started, a.finished]),
    sane(
        handed_out_once,
        "a re-run after a reclaim",
        [a.started, a.died, reclaimed("job", since=2), b.started, b.finished],
    ),
    sane(
        handed_out_once,
        "a reclaim that was asked for before the next start and answered after it",
        [a.started, a.died, b.started, reclaimed("job", since=2)],
    ),
    sane(handed_out_once, "a retry after an error", [a.started, a.raised, b.started]),
    sane(handed_out_once, "two jobs", [a.started, other.started]),
    sane(
        handed_out_once,
        "a reclaim for each re-run",
        [a.started, reclaimed("job", since=1), b.started, reclaimed("job", since=3), c.started],
    ),
    sane(
        handed_out_once,
        "a reclaim for each re-run, both answered after all",
        [a.started, b.started, c.started, reclaimed("job", since=1), reclaimed("job", since=2)],
    ),
    sane(
        handed_out_once,
        "one reclaim gives two jobs back",
        [
            *[a.started, Run(4, "A", "other").started, reclaimed("job", "other", since=2)],
            *[b.started, Run(5, "B", "other").started],
        ],
    ),
    wrong(handed_out_once, "two were handed it", [a.started, b.started], ("double-claim", 1, 2)),
    wrong(handed_out_once, "to one worker twice", [a.started, again.started], ("double-claim", 1, 2)),
    wrong(handed_out_once, "a death gives nothing back", [a.started, a.died, b.started], ("double-claim", 1, 3)),
    wrong(handed_out_once, "an end gives nothing back", [a.started, a.finished, b.started], ("double-claim", 1, 3)),
    wrong(
        handed_out_once,
        "a reclaim that gave nothing back",
        [a.started, reclaimed(since=1), b.started],
        ("double-claim", 1, 3),
    ),
    wrong(
        handed_out_once,
        "a reclaim that gave another job back",
        [a.started, reclaimed("other", since=1), b.started],
        ("double-claim", 1, 3),
    ),
    wrong(
        handed_out_once,
        "a reclaim that was asked for after the next start",
        [a.started, b.started, reclaimed("job", since=2.5)],
        ("double-claim", 1, 2),
    ),
    wrong(
        handed_out_once,
        "a reclaim before the first start",
        [reclaimed("job", since=0), a.started, b.started],
        ("double-claim", 2, 3),
    ),
    wrong(handed_out_once, "an error after the next start", [a.started, b.started, a.raised], ("double-claim", 1, 2)),
    wrong(
        handed_out_once,
        "an error in another job",
        [a.started, other.started, other.raised, c.started],
        ("double-claim", 1, 4),
    ),
    wrong(
        handed_out_once,
        "the third start, where only the second was after a reclaim",
        [a.started, reclaimed("job", since=1), b.started, c.started],
        ("double-claim", 3, 4),
    ),
    wrong(
        handed_out_once,
        "one reclaim, answered after two re-runs",
        [a.started, b.started, c.started, reclaimed("job", since=1)],
        ("double-claim", 2, 3),
    ),
    wrong(
        handed_out_once,
        "one reclaim, answered between two re-runs",
        [a.started, b.started, reclaimed("job", since=1), c.started],
        ("double-claim", 2, 4),
    ),
]

HELD_BY_STATE = [
    sane(held_by_state, "one execution", [QUEUED, a.started, a.finished]),
    sane(
        held_by_state,
        "death, the lease runs out, a reclaim, a re-run",
        [a.started, a.died, row(lease_alive="f"), reclaimed("job", since=3), b.started],
    ),
    sane(held_by_state, "dead, and nobody gets it", [a.started, a.died, row(lease_alive="f"), other.started]),
    sane(held_by_state, "run again after its finish", [a.started, a.finished, b.started]),
    sane(
        held_by_state,
        "run again after its finish and after its lease",
        [a.started, a.finished, row("done", lease_alive="f"), b.started],
    ),
    sane(held_by_state, "a retry after an error", [a.started, a.raised, b.started]),
    wrong(
        held_by_state,
        "handed out at the death",
        [a.started, a.died, row(lease_alive="t"), b.started],
        ("freed-at-death", 1, 4),
    ),
    wrong(
        held_by_state,
        "handed out at the death, and nobody looked at the row",
        [a.started, a.died, b.started],
        ("freed-at-death", 1, 3),
    ),
    wrong(
        held_by_state,
        "handed out once its lease was over",
        [a.started, a.died, row(lease_alive="t"), row(lease_alive="f"), b.started],
        ("claimed-while-running", 1, 4, 5),
    ),
    wrong(
        held_by_state,
        "another job's lease is over",
        [a.started, a.died, row(job="other", lease_alive="f"), b.started],
        ("freed-at-death", 1, 4),
    ),
    wrong(
        held_by_state,
        "the lease was over only after it was handed out",
        [a.started, a.died, b.started, row(lease_alive="f")],
        ("freed-at-death", 1, 3),
    ),
    wrong(
        held_by_state,
        "only the lease of an earlier owner was over",
        [a.started, a.died, row(lease_alive="f"), reclaimed("job", since=3), b.started, b.died, c.started],
        ("freed-at-death", 5, 7),
    ),
    wrong(
        held_by_state,
        "the lease of an earlier owner was over, and so is the last one's",
        [
            *[a.started, a.died, row(lease_alive="f"), reclaimed("job", since=3)],
            *[b.started, b.died, row(lease_alive="f"), c.started],
        ],
        ("claimed-while-running", 5, 7, 8),
    ),
    wrong(
        held_by_state,
        "one reclaim, answered after two re-runs",
        [a.started, a.died, b.started, b.died, c.started, reclaimed("job", since=2)],
        ("freed-at-death", 3, 5),
    ),
    wrong(held_by_state, "nobody is dead", [a.started, b.started], ("claimed-while-running", 1, 2)),
    wrong(
        held_by_state,
        "nobody is dead, and the lease is alive",
        [a.started, row(lease_alive="t"), b.started],
        ("claimed-while-running", 1, 3),
    ),
    wrong(
        held_by_state,
        "nobody is dead, and the lease is over",
        [a.started, row(lease_alive="f"), b.started],
        ("claimed-while-running", 1, 2, 3),
    ),
    wrong(
        held_by_state,
        "a death after it was handed out",
        [a.started, b.started, a.died],
        ("claimed-while-running", 1, 2),
    ),
    wrong(
        held_by_state,
        "an error after it was handed out",
        [a.started, b.started, a.raised],
        ("claimed-while-running", 1, 2),
    ),
    wrong(
        held_by_state,
        "a finish after it was handed out",
        [a.started, b.started, a.finished],
        ("claimed-while-running", 1, 2),
    ),
]

RECOVERED = [
    sane(recovered, "finished", [QUEUED, a.started, a.finished]),
    sane(recovered, "finished by another after a death", [QUEUED, a.started, a.died, b.started, b.finished]),
    sane(recovered, "a decoy that nobody took", [enqueued("decoy-1", "decoy"), wait(False, "decoy-1", "at once")]),
    sane(recovered, "finished in its bound", [QUEUED, a.started, a.finished, wait(True, "job", "2 L")]),
    sane(
        recovered,
        "finished, though something without a bound was waited for in vain",
        [QUEUED, wait(False, "job"), a.started, a.finished],
    ),
    sane(
        recovered, "finished, though another job was late", [QUEUED, wait(False, "other", "1 L"), a.started, a.finished]
    ),
    sane(recovered, "finished, and its queue says so", [QUEUED, a.started, a.finished, row("running"), row("done")]),
    sane(recovered, "finished, and deleted", [QUEUED, a.started, a.finished, row("absent")]),
    sane(
        recovered,
        "late, and then nobody finished it and its queue has no record of it, which is lost",
        [QUEUED, wait(False, "job", "lease + reclaim"), row("running"), row("absent")],
    ),
    sane(
        recovered,
        "abandoned, and its queue may take longer than anybody waits",
        [QUEUED, a.started, a.died, wait(False, "job", "2 L", late="")],
    ),
    sane(recovered, "another job is running", [QUEUED, a.started, a.finished, row("running", job="other")]),
    wrong(recovered, "nobody began it, and nobody waited", [QUEUED, row("done")], ("stranded", 1)),
    wrong(recovered, "nobody began it", [QUEUED, wait(False, "job", "lease + reclaim")], ("stranded", 1, 2)),
    wrong(
        recovered,
        "begun and died",
        [QUEUED, a.started, a.died, wait(False, "job", "lease + reclaim")],
        ("stranded", 1, 4),
    ),
    wrong(
        recovered,
        "begun and raised",
        [QUEUED, a.started, a.raised, wait(False, "job", "lease + reclaim")],
        ("stranded", 1, 4),
    ),
    wrong(
        recovered,
        "the first wait that was missed is the evidence, and no other job's",
        [
            *[QUEUED, wait(False, "other", "2 L"), wait(False)],
            *[wait(False, "job", "1 L"), wait(False, "job", "2 L"), wait(False, "other", "2 L"), wait(False)],
        ],
        ("stranded", 1, 4),
    ),
    wrong(
        recovered,
        "it came later than in its bound",
        [QUEUED, wait(False, "job", "1 L"), a.started, a.finished, row("done")],
        ("stranded", 1, 2),
    ),
    wrong(
        recovered,
        "it came later than in its bound, and was deleted",
        [QUEUED, wait(False, "job", "1 L"), a.started, a.finished, row("absent")],
        ("stranded", 1, 2),
    ),
    wrong(
        recovered,
        "nobody finished it, and its queue has a record of it again",
        [QUEUED, row("absent"), row("queued")],
        ("stranded", 1),
    ),
    wrong(
        recovered,
        "late by the second of two bounds",
        [QUEUED, a.started, wait(True, "job", "1 L"), wait(False, "job", "2 L"), a.finished],
        ("stranded", 1, 4),
    ),
    wrong(
        recovered,
        "finished, and at the end its queue holds it for running",
        [QUEUED, a.started, a.finished, row("done"), row("running")],
        ("stranded", 1, 5),
    ),
    wrong(
        recovered,
        "finished, and at the end its queue would hand it out again",
        [QUEUED, a.started, a.finished, row("queued")],
        ("stranded", 1, 4),
    ),
    wrong(
        recovered,
        "late and not known to its queue is one anomaly",
        [QUEUED, wait(False, "job", "1 L"), a.started, a.finished, row("running")],
        ("stranded", 1, 2),
    ),
    wrong(
        recovered,
        "a wait that came is no evidence",
        [QUEUED, wait(True, "job", "2 L"), wait(False, "job", "1 L")],
        ("stranded", 1, 3),
    ),
    wrong(
        recovered,
        "nor is one that was missed without a bound",
        [QUEUED, wait(False, "job"), wait(False, "job", "1 L")],
        ("stranded", 1, 3),
    ),
    wrong(
        recovered,
        "of a load, one",
        [enqueued("a", "load"), enqueued("b", "load"), Run(1, "A", "a").finished, wait(False, "b", "5 L")],
        ("stranded", 2, 4),
    ),
]

NOTHING_LOST = [
    sane(nothing_lost, "done, and finished", [QUEUED, a.started, a.finished, row("done")]),
    sane(nothing_lost, "finished, and deleted after it", [QUEUED, a.started, a.finished, row("absent")]),
    sane(nothing_lost, "unfinished, and the queue knows it", [QUEUED, row("queued")]),
    sane(nothing_lost, "running after a death", [a.started, a.died, row("running")]),
    sane(nothing_lost, "failed is visible, not lost", [a.started, a.raised, row("failed")]),
    sane(nothing_lost, "failed, and who began it died", [a.started, a.died, row("failed")]),
    sane(nothing_lost, "failed, then queued again", [QUEUED, row("failed"), row("queued")]),
    wrong(nothing_lost, "failed, and nobody began it", [QUEUED, row("failed")], ("lost", 2)),
    wrong(nothing_lost, "failed, and another was begun", [other.started, other.raised, row("failed")], ("lost", 3)),
    wrong(nothing_lost, "done by nobody", [QUEUED, row("done")], ("lost", 2)),
    wrong(nothing_lost, "no record", [QUEUED, row("queued"), row("absent")], ("lost", 3)),
    wrong(nothing_lost, "done, and it died", [a.started, a.died, row("done")], ("lost", 3)),
    wrong(nothing_lost, "another was finished", [other.finished, row("done")], ("lost", 2)),
]

ATTEMPTS_COUNTED = [
    sane(attempts_counted, "one start, attempt 1", [a.started, a.finished, row("done", attempt="1")]),
    sane(attempts_counted, "two starts, attempt 2", [a.started, a.died, b.started, row("done", attempt="2")]),
    sane(attempts_counted, "none yet", [QUEUED, row("queued", attempt="0")]),
    sane(attempts_counted, "a queue that does not say", [a.started, row("done", attempt=None), other.started]),
    sane(attempts_counted, "no such column", [a.started, row("done")]),
    sane(attempts_counted, "a number", [a.started, row("done", attempt=1)]),
    sane(attempts_counted, "the number 0", [QUEUED, row("queued", attempt=0)]),
    sane(attempts_counted, "counted at a failure", [a.started, row(attempt="0")], attempts="failure"),
    sane(attempts_counted, "never counted", [a.started, row(attempt="0")], attempts="never"),
    sane(attempts_counted, "a subject that does not say", [a.started, row(attempt="0")], attempts=None),
    sane(attempts_counted, "the last row counts", [row(attempt="0"), a.started, row(attempt="1")]),
    wrong(
        attempts_counted,
        "the spent attempt is gone",
        [a.started, a.died, b.started, row(attempt="1")],
        ("attempt-not-counted", 1, 3, 4),
    ),
    wrong(
        attempts_counted,
        "counted and not started",
        [a.started, other.started, row(attempt="2")],
        ("attempt-not-counted", 1, 3),
    ),
    wrong(
        attempts_counted,
        "a number that is not that of the starts",
        [a.started, a.died, b.started, row(attempt=1)],
        ("attempt-not-counted", 1, 3, 4),
    ),
    wrong(attempts_counted, "the number 0 of one start", [a.started, row(attempt=0)], ("attempt-not-counted", 1, 2)),
]

EFFECT_ONCE = [
    sane(effect_once, "one effect", [a.started, a.effect("mail"), a.finished]),
    sane(effect_once, "two keys", [a.effect("mail"), a.effect("invoice")]),
    sane(effect_once, "a re-run that makes none", [a.started, a.effect("mail"), a.died, b.started, b.finished]),
    wrong(effect_once, "made again", [a.effect("mail"), b.effect("mail")], ("effect-twice", 1, 2)),
    wrong(
        effect_once,
        "each repetition is shown beside the first",
        [a.effect("mail"), a.effect("invoice"), b.effect("mail"), c.effect("mail")],
        ("effect-twice", 1, 3),
        ("effect-twice", 1, 4),
    ),
]

NO_START_AFTER_SIGTERM = [
    sane(no_start_after_sigterm, "begun before", [a.started, TERM, receipt(), a.finished]),
    sane(no_start_after_sigterm, "begun while the signal was on its way", [TERM, a.started, receipt(), a.finished]),
    sane(no_start_after_sigterm, "others go on", [a.started, TERM, receipt(), other.started]),
    sane(no_start_after_sigterm, "no signal", [a.started, a.finished, again.started]),
    sane(no_start_after_sigterm, "another fault", [injected("pause"), receipt(), a.started]),
    sane(no_start_after_sigterm, "left out", [injected("SIGTERM", really=False), a.started]),
    sane(
        no_start_after_sigterm,
        "begun by a new process of its name",
        [TERM, receipt(), exited("A"), spawned("A", pid=2), a.started],
    ),
    wrong(
        no_start_after_sigterm,
        "begun by it, and then by a new process of its name",
        [TERM, receipt(), a.started, exited("A"), spawned("A", pid=2), again.started],
        ("claimed-after-sigterm", 2, 3),
    ),
    wrong(
        no_start_after_sigterm,
        "a new process of another name",
        [TERM, receipt(), spawned("B", pid=2), a.started],
        ("claimed-after-sigterm", 2, 4),
    ),
    wrong(
        no_start_after_sigterm,
        "the new process was told to stop, too",
        [TERM, receipt(), spawned("A", pid=2), injected("SIGTERM", step=2), receipt(2), a.started],
        ("claimed-after-sigterm", 5, 6),
    ),
    wrong(no_start_after_sigterm, "begun after", [TERM, receipt(), a.started], ("claimed-after-sigterm", 2, 3)),
    wrong(
        no_start_after_sigterm,
        "the one that was claimed ahead",
        [a.started, TERM, receipt(), a.finished, Run(2, "A", "ahead").started],
        ("claimed-after-sigterm", 3, 5),
    ),
    wrong(
        no_start_after_sigterm,
        "the receipt of the right step",
        [injected("pause", step=1), receipt(1), injected("SIGTERM", step=2), receipt(2), a.started, other.started],
        ("claimed-after-sigterm", 4, 5),
    ),
]

SERVED_TO_THE_END = [
    sane(served_to_the_end, "finished after the signal", [a.started, TERM, receipt(), a.finished]),
    sane(served_to_the_end, "raised after the signal", [a.started, TERM, receipt(), a.raised]),
    sane(
        served_to_the_end, "died before the signal", [a.started, a.died, again.started, TERM, receipt(), again.finished]
    ),
    sane(served_to_the_end, "another worker's death", [a.started, other.started, TERM, receipt(), other.died]),
    sane(served_to_the_end, "still at it", [a.started, TERM, receipt()]),
    sane(served_to_the_end, "no signal", [a.started, injected(), receipt(), a.died]),
    sane(served_to_the_end, "the signal was left out", [a.started, injected("SIGTERM", really=False), a.died]),
    sane(
        served_to_the_end,
        "finished, and a new process of its name died",
        [a.started, TERM, receipt(), a.finished, exited("A"), spawned("A", pid=2), again.started, again.died],
    ),
    sane(served_to_the_end, "finished before the receipt", [a.started, TERM, a.finished, exited("A"), receipt()]),
    sane(served_to_the_end, "died just before the signal", [a.started, a.died, TERM, exited("A"), receipt()]),
    wrong(served_to_the_end, "left at the signal", [a.started, TERM, receipt(), a.died], ("abandoned", 1, 2, 4)),
    wrong(served_to_the_end, "left before the receipt", [a.started, TERM, a.died, receipt()], ("abandoned", 1, 2, 3)),
    wrong(
        served_to_the_end,
        "left and reaped before the receipt",
        [a.started, TERM, exited("A"), a.died, receipt()],
        ("abandoned", 1, 2, 3),
    ),
    wrong(
        served_to_the_end,
        "its death is seen after a new process of its name has come",
        [a.started, TERM, receipt(), exited("A"), spawned("A", pid=2), a.died],
        ("abandoned", 1, 2, 4),
    ),
]

CLEAN_EXIT = [
    sane(clean_exit, "an accepted code", [TERM, receipt(), exited("A", 0)]),
    sane(clean_exit, "killed, and never told to drain", [injected(), receipt(), exited("A", KILLED)]),
    sane(clean_exit, "another worker's end", [TERM, receipt(), exited("B", 1), exited("A", 0)]),
    sane(clean_exit, "a code that its `describe` accepts", [TERM, receipt(), exited("A", 75)], exit_codes=(0, 75)),
    sane(clean_exit, "an accepted code before the receipt", [TERM, exited("A", 0), receipt()]),
    sane(clean_exit, "the signal was left out, and it goes on", [injected("SIGTERM", really=False)]),
    sane(
        clean_exit,
        "a new process of its name ends otherwise",
        [TERM, receipt(), exited("A", 0), spawned("A", pid=2), exited("A", 1, pid=2)],
    ),
    sane(
        clean_exit,
        "an earlier process of its name had ended otherwise",
        [spawned("A"), exited("A", 1), spawned("A", pid=2), TERM, receipt(), exited("A", 0, pid=2)],
    ),
    wrong(clean_exit, "an error", [TERM, receipt(), exited("A", 1)], ("unclean-exit", 1, 3)),
    wrong(clean_exit, "an error before the receipt", [TERM, exited("A", 1), receipt()], ("unclean-exit", 1, 2)),
    wrong(clean_exit, "killed by the signal", [TERM, receipt(), exited("A", -15)], ("unclean-exit", 1, 3)),
    wrong(clean_exit, "it does not end", [TERM, receipt()], ("unclean-exit", 2)),
    wrong(clean_exit, "only another ends", [TERM, receipt(), exited("B", 0)], ("unclean-exit", 2)),
    wrong(
        clean_exit,
        "only a new process of its name ends",
        [TERM, receipt(), spawned("A", pid=2), exited("A", 0, pid=2)],
        ("unclean-exit", 2),
    ),
    wrong(
        clean_exit,
        "only an earlier process of its name had ended",
        [exited("A", 0), spawned("A", pid=2), TERM, receipt()],
        ("unclean-exit", 4),
    ),
    wrong(
        clean_exit,
        "0 where only another code is accepted",
        [TERM, receipt(), exited("A", 0)],
        ("unclean-exit", 1, 3),
        exit_codes=(75,),
    ),
]

GONE = [TERM, receipt(), exited("A")]

UNSTARTED_FREED = [
    sane(unstarted_freed, "given back", [*GONE, row("queued", leased_by=None)]),
    sane(unstarted_freed, "no such column", [*GONE, row("queued")]),
    sane(unstarted_freed, "held, and read before the exit", [TERM, receipt(), row(leased_by="A"), exited("A")]),
    sane(unstarted_freed, "held for it, which had begun it", [a.started, *GONE, row(leased_by="A")]),
    sane(unstarted_freed, "held for another", [*GONE, row(leased_by="B")]),
    sane(unstarted_freed, "gone without a signal", [exited("A"), row(leased_by="A")]),
    sane(unstarted_freed, "held for a new process of its name", [*GONE, spawned("A", pid=2), row(leased_by="A")]),
    sane(unstarted_freed, "it has not ended", [TERM, receipt(), row(leased_by="A")]),
    wrong(unstarted_freed, "still held", [*GONE, row(leased_by="A")], ("not-freed", 1, 3, 4)),
    wrong(
        unstarted_freed,
        "held after an end before the receipt",
        [TERM, exited("A"), receipt(), row(leased_by="A")],
        ("not-freed", 1, 2, 4),
    ),
    wrong(
        unstarted_freed,
        "held before a new process of its name has come",
        [*GONE, row(leased_by="A"), spawned("A", pid=2)],
        ("not-freed", 1, 3, 4),
    ),
    wrong(
        unstarted_freed,
        "told of once for each job",
        [*GONE, row(leased_by="A"), row(leased_by="A"), row(job="other", leased_by="A")],
        ("not-freed", 1, 3, 4),
        ("not-freed", 1, 3, 6),
    ),
    wrong(
        unstarted_freed, "begun by another", [Run(1, "B").started, *GONE, row(leased_by="A")], ("not-freed", 2, 4, 5)
    ),
]

LOST = [a.started, reclaimed("job", since=1), b.started]
"""A has lost the job to B, which is at positions 1 and 3."""

LATE_FINISH_REFUSED = [
    sane(late_finish_refused, "one execution", [a.started, a.finished, a.accepted, row("done")]),
    sane(
        late_finish_refused,
        "refused",
        [*LOST, a.finished, a.refused, row("running", leased_by="B"), b.finished, b.accepted, row("done")],
    ),
    sane(
        late_finish_refused, "done after the owner's finish", [*LOST, a.finished, b.finished, b.accepted, row("done")]
    ),
    sane(late_finish_refused, "another job is done", [*LOST, a.finished, row("done", job="other"), b.finished]),
    sane(
        late_finish_refused,
        "it has failed, and somebody came after the owner",
        [*LOST, a.finished, c.started, row("failed"), b.finished],
    ),
    sane(late_finish_refused, "the owner's own finish, and no other, is accepted", [*LOST, a.finished, b.accepted]),
    sane(
        late_finish_refused,
        "another job of the late one's is accepted",
        [*LOST, a.finished, Run(3, "A", "other").accepted, b.finished],
    ),
    sane(late_finish_refused, "the late one died", [*LOST, a.died, b.finished, b.accepted, row("done")]),
    sane(
        late_finish_refused,
        "a re-run after an acknowledgement that came too late",
        [a.started, a.finished, reclaimed("job", since=2), b.started, a.refused, row("running"), b.finished],
    ),
    sane(late_finish_refused, "the same worker", [a.started, again.started, a.finished, a.accepted, again.finished]),
    sane(
        late_finish_refused,
        "an error that was accepted, and a retry elsewhere with no reclaim",
        [a.started, a.raised, a.accepted, b.started, b.finished, b.accepted],
    ),
    sane(
        late_finish_refused,
        "an error whose acceptance was told after the retry had begun",
        [a.started, a.raised, b.started, a.accepted, b.finished, b.accepted],
    ),
    sane(
        late_finish_refused,
        "what the late one's next claim ends is accepted",
        [*LOST, b.died, reclaimed("job", since=4), Run(3, "A").started, Run(3, "A").finished, Run(3, "A").accepted],
    ),
    sane(
        late_finish_refused,
        "accepted, and then reclaimed",
        [a.started, a.finished, a.accepted, reclaimed("job", since=3), b.started, b.finished],
    ),
    wrong(
        late_finish_refused, "accepted", [*LOST, a.finished, a.accepted, b.finished], ("stale-finish-accepted", 1, 3, 5)
    ),
    wrong(
        late_finish_refused,
        "both accepted, the late one last",
        [*LOST, b.finished, b.accepted, a.finished, a.accepted],
        ("stale-finish-accepted", 1, 3, 7),
    ),
    wrong(
        late_finish_refused,
        "both ended, and the late one's acceptance told last",
        [*LOST, a.finished, b.finished, b.accepted, a.accepted],
        ("stale-finish-accepted", 1, 3, 7),
    ),
    wrong(
        late_finish_refused,
        "the acceptance is told before the late one's end",
        [*LOST, a.accepted, a.finished, b.finished],
        ("stale-finish-accepted", 1, 3, 4),
    ),
    wrong(
        late_finish_refused,
        "accepted, and the late one's end was never seen",
        [*LOST, a.accepted, b.finished],
        ("stale-finish-accepted", 1, 3, 4),
    ),
    wrong(
        late_finish_refused,
        "an end, a reclaim, and then accepted, with no overlap",
        [a.started, a.finished, reclaimed("job", since=2), b.started, a.accepted, b.finished],
        ("stale-finish-accepted", 1, 4, 5),
    ),
    wrong(
        late_finish_refused,
        "an owner that is not the next one",
        [*LOST, b.died, reclaimed("job", since=4), c.started, a.finished, a.accepted, c.finished],
        ("stale-finish-accepted", 1, 3, 8),
        ("stale-finish-accepted", 1, 6, 8),
    ),
    wrong(
        late_finish_refused,
        "an owner that is not the next one, and a row that says so",
        [*LOST, b.died, reclaimed("job", since=4), c.started, a.finished, row("done"), c.finished],
        ("stale-finish-accepted", 1, 6, 8),
    ),
    wrong(
        late_finish_refused,
        "a late error accepted",
        [*LOST, a.raised, a.accepted, b.finished],
        ("stale-finish-accepted", 1, 3, 5),
    ),
    wrong(
        late_finish_refused,
        "a late error, and the row is failed",
        [*LOST, a.raised, row("failed"), b.finished],
        ("stale-finish-accepted", 1, 3, 5),
    ),
    wrong(
        late_finish_refused,
        "its worker has the job anew, and what it made of its first claim is accepted",
        [a.started, reclaimed("job", since=1), again.started, a.finished, a.accepted, again.finished],
        ("stale-finish-accepted", 1, 3, 5),
    ),
    wrong(
        late_finish_refused,
        "the row says so, whatever the queue told its worker",
        [*LOST, a.finished, a.refused, row("done"), b.finished],
        ("stale-finish-accepted", 1, 3, 6),
    ),
    wrong(
        late_finish_refused,
        "the row is failed",
        [*LOST, a.finished, row("failed"), b.finished],
        ("stale-finish-accepted", 1, 3, 5),
    ),
    wrong(
        late_finish_refused,
        "one anomaly, and its first evidence",
        [*LOST, a.finished, a.accepted, row("done"), b.finished],
        ("stale-finish-accepted", 1, 3, 5),
    ),
    wrong(
        late_finish_refused,
        "the owner never ended",
        [*LOST, a.finished, a.accepted],
        ("stale-finish-accepted", 1, 3, 5),
    ),
]

ONE_OWNER = [
    sane(one_owner, "the owner renews", [a.started, a.kept, a.finished]),
    sane(one_owner, "the late one is refused", [*LOST, a.lost, b.kept, b.finished]),
    sane(
        one_owner, "renewed before it was lost", [a.started, a.kept, reclaimed("job", since=2), b.started, b.finished]
    ),
    sane(one_owner, "the late one keeps another job", [*LOST, Run(3, "A", "other").kept, b.finished]),
    sane(one_owner, "back to back", [a.started, a.kept, a.finished, b.started, b.kept, b.finished]),
    sane(
        one_owner,
        "the late one was given it again",
        [*LOST, b.died, reclaimed("job", since=4), Run(3, "A").started, a.kept],
    ),
    sane(one_owner, "two slots of one worker", [a.started, again.started, a.kept, again.finished]),
    sane(
        one_owner,
        "its worker got it anew",
        [a.started, reclaimed("job", since=1), again.started, again.kept, a.finished, again.finished],
    ),
    sane(one_owner, "renewed after the owner's finish", [*LOST, b.finished, a.kept]),
    sane(one_owner, "renewed while an error is retried", [a.started, a.raised, b.started, a.kept, b.finished]),
    wrong(
        one_owner,
        "an owner that is not the next one",
        [*LOST, b.died, reclaimed("job", since=4), c.started, a.kept, c.finished],
        ("two-owners", 1, 6, 7),
    ),
    wrong(
        one_owner,
        "renewed before its worker got it anew",
        [*LOST, a.kept, b.died, reclaimed("job", since=5), Run(3, "A").started, a.kept],
        ("two-owners", 1, 3, 4),
    ),
    wrong(one_owner, "both renew", [*LOST, a.kept, b.finished], ("two-owners", 1, 3, 4)),
    wrong(
        one_owner,
        "one anomaly, and its first evidence",
        [*LOST, b.kept, a.kept, a.kept, b.finished],
        ("two-owners", 1, 3, 5),
    ),
    wrong(
        one_owner, "the late one finishes afterwards", [*LOST, a.kept, a.finished, b.finished], ("two-owners", 1, 3, 4)
    ),
]

SCHEMA_REFUSES = [
    sane(schema_refuses, "all refused", [injected("write"), receipt(answered=2, accepted=[])]),
    sane(schema_refuses, "another fault's receipt", [injected(), receipt(pids=[1])]),
    wrong(
        schema_refuses,
        "taken",
        [injected("write"), receipt(answered=3, accepted=["queued, leased", "done, leased"])],
        ("impossible-state", 2),
        ("impossible-state", 2),
    ),
]

UNDISTURBED = [
    sane(
        undisturbed,
        "one execution, a reclaim that finds nothing, a clean end",
        [QUEUED, a.started, reclaimed(since=2), injected(really=False), a.finished, exited("A"), row("done")],
    ),
    sane(undisturbed, "two jobs", [a.started, other.started, a.finished, other.finished]),
    wrong(undisturbed, "started again", [a.started, a.finished, again.started], ("disturbed", 3)),
    wrong(undisturbed, "reclaimed alive", [a.started, reclaimed("job", since=1)], ("disturbed", 2)),
    wrong(undisturbed, "died", [a.started, a.died], ("disturbed", 2)),
    wrong(undisturbed, "killed", [exited("A", KILLED)], ("disturbed", 1)),
    wrong(undisturbed, "a fault was injected", [injected(), receipt()], ("disturbed", 2)),
]

PROGRESS = [
    sane(progress, "it came", [wait(True, must=True)]),
    sane(progress, "what a claim allows is judged by that claim", [wait(False, "job", "2 L")]),
    wrong(progress, "it did not come", [QUEUED, wait(False, must=True)], ("no-progress", 2)),
]

CASES = [
    *[*NO_OVERLAP, *HANDED_OUT_ONCE, *HELD_BY_STATE, *RECOVERED, *NOTHING_LOST, *ATTEMPTS_COUNTED, *EFFECT_ONCE],
    *[*NO_START_AFTER_SIGTERM, *SERVED_TO_THE_END, *CLEAN_EXIT, *UNSTARTED_FREED, *LATE_FINISH_REFUSED, *ONE_OWNER],
    *[*SCHEMA_REFUSES, *UNDISTURBED, *PROGRESS],
]
for module in pkgutil.iter_modules(cases.__path__):
    CASES += importlib.import_module(f"tests.bench.cases.{module.name}").CASES

THEMES = [importlib.import_module(f"bench.checks.{i.name}") for i in pkgutil.iter_modules(checks.__path__)]

CHECKS: list[Check] = [
    function
    for theme in THEMES
    for name, function in inspect.getmembers(theme, inspect.isfunction)
    if function.__module__ == theme.__name__ and not name.startswith("_") and theme is not base
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_finds_what_there_is(case: Case) -> None:
    assert [(anomaly.name, anomaly.events) for anomaly in case.check(case.events)] == case.found


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_a_sane_case_and_one_for_each_of_its_anomalies(check: Check) -> None:
    mine = [case for case in CASES if case.check is check]
    promised = set(re.findall("`([a-z-]+)`", (check.__doc__ or "").partition(":")[0]))
    assert promised
    assert any(not case.found for case in mine)
    assert {name for case in mine for name, _ in case.found} == promised


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_takes_every_history_and_every_beginning_of_one(check: Check) -> None:
    for case in CASES:
        for length in range(1, len(case.events) + 1):
            for anomaly in check(case.events[:length]):
                assert anomaly.text
                assert anomaly.events
                assert all(0 <= position < length for position in anomaly.events)


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_changes_nothing(check: Check) -> None:
    for case in CASES:
        before = repr(case.events)
        assert list(check(case.events)) == list(check(case.events))
        assert repr(case.events) == before


TEXTS = [
    (no_overlap, [a.started, b.started], "job was started by B while A was still running it"),
    (handed_out_once, [a.started, b.started], "job was handed to A and, with nothing given back between, to B"),
    (
        held_by_state,
        [a.started, a.died, b.started],
        "B got job from A with its lease not seen to be over, and no reclaim had given it back",
    ),
    (
        held_by_state,
        [a.started, a.died, row(lease_alive="f"), b.started],
        "B got job from A after its lease had run out, and no reclaim had given it back",
    ),
    (
        recovered,
        [QUEUED, wait(False, "job", "lease + reclaim interval", within=1.5)],
        "not within 1.50 s (lease + reclaim interval): something",
    ),
    (recovered, [QUEUED], "job was not finished by anybody"),
    (
        recovered,
        [QUEUED, a.started, a.finished, row("running")],
        "job was finished, and at the end its queue says running",
    ),
    (nothing_lost, [QUEUED, row("failed")], "the queue says that job has failed, and nobody began it"),
    (nothing_lost, [QUEUED, row("absent")], "the queue says that job is absent, and nobody finished it"),
    (attempts_counted, [a.started, b.started, row(attempt="1")], "job was started 2 times, and its row says attempt 1"),
    (clean_exit, [TERM, receipt(), exited("A", 1)], "A ended with 1 after SIGTERM; accepted is [0]"),
    (clean_exit, [TERM, receipt()], "A did not end after SIGTERM"),
    (served_to_the_end, [a.started, TERM, a.died, receipt()], "A left job on SIGTERM"),
    (unstarted_freed, [*GONE, row(leased_by="A")], "job is still held for A, which never began it and is gone"),
    (
        late_finish_refused,
        [*LOST, a.finished, a.accepted],
        "the end that A made of job was taken, and B had it by then",
    ),
    (late_finish_refused, [*LOST, a.finished, row("done")], "job is over by A, and B is still running it"),
    (one_owner, [*LOST, a.kept], "A renewed job while B held it: both believe it to be theirs"),
]


@pytest.mark.parametrize(("check", "events", "text"), TEXTS)
def test_the_text_says_who_did_what(check: Check, events: list[Event], text: str) -> None:
    assert [anomaly.text for anomaly in check(history(*events))] == [text]


def test_executions_are_in_the_order_of_their_starts() -> None:
    events = history(
        *[enqueued("job"), enqueued("other", "load"), a.started, other.started],
        *[a.finished, unnumbered(c.started), c.died],
    )
    assert executions(events) == [
        Execution(a.number, "job", "A", 1, 3, 5, "finished"),
        Execution(other.number, "other", "B", 2, 4, 8, "running"),
        Execution(c.number, "job", "C", None, 6, 7, "died"),
    ]


# What was misjudged once: each is the smallest history that showed it.

anew = Run(3, "A")

MISJUDGED_ONCE = [
    (
        "the row that its owner had ended was read before the witness heard of the owner's finish",
        sane(
            late_finish_refused,
            "the owner was told to finish before the row was read",
            [*LOST, a.finished, a.refused, b.told_to_finish, row("done"), b.finished, b.accepted],
        ),
    ),
    (
        "as above, and nobody had told the owner to",
        wrong(
            late_finish_refused,
            "the owner was told to finish after the row was read",
            [*LOST, a.finished, a.refused, row("done"), b.told_to_finish, b.finished],
            ("stale-finish-accepted", 1, 3, 6),
        ),
    ),
    (
        "the exit is written before the finish, which came first",
        sane(served_to_the_end, "finished, and reaped early", [a.started, TERM, receipt(), exited("A"), a.finished]),
    ),
    (
        "a death is reaped before it is witnessed, and the next one begins between",
        sane(no_overlap, "reaped, and then begun by another", [a.started, exited("A", KILLED), b.started, a.died]),
    ),
    (
        "a tree is killed, its top is reaped first, and the next one begins before the death below is witnessed",
        sane(
            no_overlap,
            "the process that ran it was of the tree",
            [a.started, exited("A", KILLED, pid=9), b.started, a.died, receipt(pids=[9, 1], status=KILLED)],
        ),
    ),
    (
        "as above, and what ran it was not of the tree",
        wrong(
            no_overlap,
            "it outlived the tree",
            [a.started, exited("A", KILLED, pid=9), b.started, a.died, receipt(pids=[9, 8], status=KILLED)],
            ("double-execution", 1, 3),
        ),
    ),
    (
        "as above, with nothing that gave the job back",
        wrong(
            held_by_state,
            "reaped, and then handed on",
            [a.started, exited("A", KILLED), b.started, a.died],
            ("freed-at-death", 1, 3),
        ),
    ),
    (
        "an owner that got the job anew is judged by its first claim while the one between still runs",
        sane(one_owner, "got anew", [*LOST, reclaimed("job", since=3), anew.started, anew.kept]),
    ),
    (
        "where attempts are not told, a worker's later acceptance is taken for that of its first claim",
        sane(
            late_finish_refused,
            "got anew, and no attempt is told",
            [
                *[unnumbered(a.started), a.died, reclaimed("job", since=2)],
                *[unnumbered(again.started), again.finished, unnumbered(again.accepted)],
            ],
        ),
    ),
    (
        "one reclaim, answered late, makes two owners late",
        sane(
            late_finish_refused,
            "one reclaim, an error, a retry",
            [a.started, b.started, reclaimed("job", since=1), b.raised, c.started, b.accepted],
        ),
    ),
    (
        "the row that a third, rightful owner has ended is taken for the late one's doing",
        sane(
            late_finish_refused,
            "ended by a third owner",
            [*LOST, reclaimed("job", since=3), c.started, a.finished, a.refused, c.finished, c.accepted, row("done")],
        ),
    ),
    (
        "a row that was read before the finish says nothing of the end",
        sane(recovered, "an early row", [QUEUED, a.started, row("running"), a.finished]),
    ),
    (
        "a job that was begun between the signal and its receipt may be left: no check finds it",
        wrong(
            served_to_the_end,
            "begun before the receipt",
            [TERM, a.started, receipt(), a.died],
            ("abandoned", 2, 1, 4),
        ),
    ),
    (
        "with two receipts, which a step may have, each anomaly comes twice",
        wrong(
            served_to_the_end,
            "two receipts",
            [a.started, TERM, receipt(), receipt(), a.died],
            ("abandoned", 1, 2, 5),
        ),
    ),
]


@pytest.mark.parametrize("case", [case for _, case in MISJUDGED_ONCE], ids=str)
def test_what_was_misjudged_once(case: Case) -> None:
    test_finds_what_there_is(case)
