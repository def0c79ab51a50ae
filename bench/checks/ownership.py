"""Is a job at one place at a time, and handed on only by what may hand it on?"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bench.checks.base import Anomaly, Execution, between, by_job, index, of_kind, reclaims
from bench.history import Event


def no_overlap(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`double-execution`: two executions of one job at the same moment."""
    for runs in by_job(events).values():
        under_way: list[Execution] = []
        for later in runs:
            under_way = [run for run in under_way if run.end > later.start]
            for earlier in under_way:
                if earlier.overlaps(later):
                    text = f"{later.job} was started by {later.worker} while {earlier.worker} was still running it"
                    yield Anomaly("double-execution", text, (earlier.start, later.start))
            under_way.append(later)


def handed_out_once(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`double-claim`: a job that nobody had given back was handed out again.

    For scripts in which only the bench reclaims: a worker's own reclaim is not in the history.
    """
    for earlier, later in _handed_out_again(events):
        text = f"{later.job} was handed to {earlier.worker} and, with nothing given back between, to {later.worker}"
        yield Anomaly("double-claim", text, (earlier.start, later.start))


def held_by_state(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`freed-at-death`, `claimed-while-running`: an unfinished job was handed on with no reclaim.

    It was freed by its owner's death if the lease was not yet seen to be over, and else by the lease. For scripts in
    which only the bench reclaims, as above.
    """
    over_rows = index((e["job"], i) for i, e in of_kind(events, "row") if e["row"].get("lease_alive") == "f")
    for earlier, later in _handed_out_again(events):
        if earlier.end < later.start and earlier.ending != "died":
            continue  # run again after its end: another matter, at-least-once
        over = between(over_rows[later.job], earlier.start, later.start)
        freed = earlier.ending == "died" and earlier.end < later.start and not over
        when = "with its lease not seen to be over" if not over else "after its lease had run out"
        yield Anomaly(
            "freed-at-death" if freed else "claimed-while-running",
            f"{later.worker} got {later.job} from {earlier.worker} {when}, and no reclaim had given it back",
            (earlier.start, *over[-1:], later.start),
        )


def _handed_out_again(events: Sequence[Event]) -> Iterator[tuple[Execution, Execution]]:
    """Neighbouring executions of one job between which nothing gave the job back: no reclaim, no failure."""
    for runs, reclaimed in reclaims(events):
        for (earlier, later), given_back in zip(pairwise(runs), reclaimed, strict=True):
            if not given_back and not (earlier.ending == "raised" and earlier.end < later.start):
                yield earlier, later
