"""The book of what a worker holds.

All its threads write in it: the main thread adds what it has claimed and strikes out what has ended, slots take what
waits, the heartbeat and the watch note what is kept and what is lost.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from queue_core.flag import Flag
from queue_core.queue import Job


@dataclass(eq=False, slots=True)
class Task:
    """A job held by a worker, and how far it has got."""

    job: Job
    deadline: float
    """When the lease is over by this machine's monotonic clock, in seconds, if it is not renewed before."""
    lost: Flag = field(default_factory=Flag)
    """Set once the worker can't count on it any more."""
    gone: bool = False
    """Whether the database has said that it is lost."""
    started: bool = False
    settling: bool = False
    """Its end, or its release, is up to the main thread now."""


class Holdings:
    """What a worker holds, by claim, and which of it waits for a slot. All is callable on any thread, under one lock.

    So is what take() and lose_late() are given to ask: it may use the book, too, but must not wait for anything.

    Args:
        over: set once no slot shall take any more; to be followed by wake().
    """

    def __init__(self, over: threading.Event) -> None:
        self._over = over
        self._tasks: dict[Job, Task] = {}
        self._waiting: deque[Task] = deque()
        self._change = threading.Condition()

    def __len__(self) -> int:
        with self._change:
            return len(self._tasks)

    def jobs(self) -> list[Job]:
        """All jobs that are held, in the order of their claims."""
        with self._change:
            return list(self._tasks)

    def held(self) -> list[Job]:
        """Those not known from the database to be lost."""
        with self._change:
            return [job for job, task in self._tasks.items() if not task.gone]

    def running(self) -> list[Job]:
        """Those whose handler runs at this moment."""
        with self._change:
            return [job for job, task in self._tasks.items() if task.started and not task.settling]

    def add(self, tasks: Iterable[Task]) -> None:
        """Hold jobs just claimed, and let slots take them."""
        with self._change:
            for task in tasks:
                self._tasks[task.job] = task
                self._waiting.append(task)
            self._change.notify_all()

    def take(self, may_start: Callable[[], bool], overdue: Callable[[float], bool]) -> Task | None:
        """Wait for the next job that a slot may start, and count it as started. None once it is over.

        One that is late by then is not started, but lost.
        """
        while True:
            with self._change:
                while not (self._over.is_set() or (self._waiting and may_start())):
                    self._change.wait()
                if self._over.is_set():
                    return None
                if _is_late(self._waiting[0], overdue):
                    self._lose(self._waiting[0])
                    continue
                task = self._waiting.popleft()
                task.started = True
                return task

    def wake(self) -> None:
        """Have the slots that wait in take() look again."""
        with self._change:
            self._change.notify_all()

    def judge(self, held: list[Job], kept: Collection[Job], deadline: float) -> list[Job]:
        """Note the answer to a heartbeat: of the jobs `held`, those `kept` have time until `deadline`.

        The others are lost, unless their end is up to the main thread by now. Returns the lost ones.
        """
        lost = []
        with self._change:
            for job in held:
                task = self._tasks.get(job)
                # A job that the main thread is just finishing or giving back is not lost, only over.
                if task is None or task.settling:
                    continue
                if job in kept:
                    task.deadline = deadline
                    continue
                lost.append(job)
                task.gone = True
                self._lose(task)
        return lost

    def lose_late(self, overdue: Callable[[float], bool]) -> list[Job]:
        """Count on what is late no longer. Returns the jobs."""
        with self._change:
            late = [task for task in self._tasks.values() if _is_late(task, overdue)]
            for task in late:
                self._lose(task)
        return [task.job for task in late]

    def withdraw(self) -> list[Job]:
        """Let no slot take what waits. Returns the jobs that were not started, for the main thread to give back."""
        with self._change:
            unstarted = [job for job, task in self._tasks.items() if not task.started]
            for job in unstarted:
                self._tasks[job].settling = True
            self._waiting.clear()
        return unstarted

    def abandon(self) -> None:
        """Tell all handlers that their jobs are lost: what is held is the main thread's now, to finish or give back."""
        with self._change:
            for task in self._tasks.values():
                task.settling = True
                task.lost.set()

    def forget(self, jobs: Iterable[Job]) -> None:
        """Hold jobs no longer: their fate is known."""
        with self._change:
            for job in jobs:
                del self._tasks[job]

    def _lose(self, task: Task) -> None:
        """Count on a job no longer: its handler is told, and one that has not started never will."""
        task.lost.set()
        if not task.started:
            self._waiting.remove(task)
            del self._tasks[task.job]


def _is_late(task: Task, overdue: Callable[[float], bool]) -> bool:
    return not task.settling and not task.lost.is_set() and overdue(task.deadline)
