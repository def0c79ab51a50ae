"""A new release of the workers comes beside the old one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run

TAKEN_WITHIN = 10.0
"""Leases within which the new release must have taken up work."""


class NewRelease(Fault):
    """A worker of a newer version comes, and before it a job whose payload has the newer form.

    Of the jobs given, one was put in before and waits: the new worker takes that one first. Receipt: the pid of the
    worker that came, and what the queue then says of that job.
    """

    kind = "new release"

    def __init__(self, run: Run, name: str, version: int, waiting: Job, **wishes) -> None: ...
