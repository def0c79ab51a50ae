"""Twins that break the rule, for the bench to refuse; apart from the tests, since worker processes load them."""

from collections.abc import Collection

from queue_core import Job, Worker


class Equal(Worker):
    """Everything as in the sound worker, and nothing else."""

    renew = Worker.renew


class TwoDifferences(Worker):
    """Two mechanisms are taken out."""

    def renew(self, held: list[Job]) -> Collection[Job]:
        return held

    def may_start(self) -> bool:
        return True
