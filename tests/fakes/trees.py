"""Fakes that reclaim by themselves: some claim ahead, and some are trees, in which each job has its own process."""

import os
import threading
import time

from bench import puppet
from tests.fakes.sane import Held, Message, Sane

GIVE_BACK = """UPDATE jobs SET state = 'queued', owner = NULL, until = NULL
    WHERE state = 'running' AND owner = :owner AND id = :id AND attempt = :attempt"""


class Reclaims(Sane):
    """Its workers reclaim by themselves, as in most queues."""

    describe: Message = Sane.describe | {
        "reclaim": "automatic",
        "columns": ["leased_by", "attempt", "lease_alive", "lease_expired"],
    }

    def ready(self) -> None:
        super().ready()
        threading.Thread(target=self.reclaims, daemon=True).start()

    def reclaims(self) -> None:
        while True:
            time.sleep(self.lease / 4)
            self.reclaim()


class ClaimsAhead(Reclaims):
    """Claims two jobs more than the one that it runs, and renews them all."""

    def __init__(self) -> None:
        super().__init__()
        self.room, self.one_at_a_time = threading.Semaphore(3), threading.Lock()

    def hold(self, job: Held) -> None:
        self.room.acquire()
        threading.Thread(target=self.hold_on, args=(job,), daemon=True).start()
        self.room.acquire()  # not back to the next claim before there is room for it
        self.room.release()

    def hold_on(self, job: Held) -> None:
        super().hold(job)
        self.room.release()

    def run(self, job: Held) -> None:
        with self.one_at_a_time:
            super().run(job)


class RunsInAChild(Reclaims):
    """Gives back the job of a child that dies; of a parent that dies, the child goes on as if nothing had happened."""

    def run(self, job: Held) -> None:
        parent, child = os.getpid(), os.fork()
        if child == 0:
            self.be_the_child(job, parent)
        _, status = os.waitpid(child, 0)
        if status:
            self.child_died(job)

    def be_the_child(self, job: Held, parent: int) -> None:
        status = 1
        try:
            puppet.obey(job.name, job.attempt)
            status = 0
        finally:
            os._exit(status)

    def child_died(self, job: Held) -> None:
        self.sql(GIVE_BACK, owner=self.name, id=job.id, attempt=job.attempt)


class EndsWithItsParent(RunsInAChild):
    """Its child looks who its parent is, and ends when that is gone."""

    def be_the_child(self, job: Held, parent: int) -> None:
        def look() -> None:
            while os.getppid() == parent:
                time.sleep(self.lease / 20)
            os._exit(1)

        threading.Thread(target=look, daemon=True).start()
        super().be_the_child(job, parent)


class WaitsForTheDead(RunsInAChild):
    """Does not see that its child has died, and renews the lease of its job for ever."""

    def child_died(self, job: Held) -> None:
        time.sleep(600)
