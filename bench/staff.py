"""How a script starts processes of the subject: workers, producers, schedulers. Times are in leases (L)."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from bench import waits
from bench.children import how, last_words
from bench.contract import AdapterFault
from bench.events import exit_of, is_ready, is_ready_or_gone
from bench.history import Closed
from bench.orders import FINISH
from bench.stage import Stage
from bench.subject import Worker
from bench.waits import Waits

if TYPE_CHECKING:
    from bench.clock import Clock
    from bench.producer import Producer
    from bench.relay import Relay
    from bench.witness import Desk

POLL = 1 / 10
"""Leases between a worker's looks at the queue."""


class Options(TypedDict, total=False):
    """What a worker can be told. In leases: poll, reclaim_every (None: never), grace, backoff (base and cap).

    `prefetch` is how many jobs it may claim ahead of its `slots`; `queue` is the only one that it works on; `version`
    is the newest payload that it can read; `listen` is whether it hears of new jobs beside its poll.
    """

    slots: int
    prefetch: int
    poll: float
    reclaim_every: float | None
    grace: float | None
    backoff: tuple[float, float] | None
    queue: str | None
    listen: bool
    version: int


class Staff(Waits):
    """The part of a script's handle that starts the subject's processes and ends them."""

    desk: Desk
    _stage: Stage

    def __init__(self) -> None:
        self.processes: list[Worker] = []
        self.producers: list[Producer] = []
        self._supervisors: list[threading.Thread] = []
        self._closing = threading.Event()
        self._open = ExitStack()

    def worker(
        self,
        name: str,
        *,
        via: Relay | None = None,
        clock: Clock | None = None,
        supervised: bool = False,
        wait: bool = True,
        **options: Unpack[Options],
    ) -> Worker:
        """Start a worker process and wait until it says that it takes jobs.

        Its own reclaim and its LISTEN are off unless set. `via`: it reaches its jobs through a relay; `clock`: its
        wall clock is one that the bench can set; `supervised`: when it ends, another of its name is started.
        """
        given = {"slots": 1, "prefetch": 0, "poll": POLL, "reclaim_every": None, "grace": None, "backoff": None}
        wanted = {**given, "queue": None, "listen": False, "version": 1, **options}
        environment = {} if via is None else {self._stage.variable: via.url}
        start = partial(self._start, "worker", name, self._in_seconds(wanted), environment, clock)
        worker = start()
        if supervised:
            thread = threading.Thread(target=self._supervise, args=(worker, start), daemon=True)
            self._supervisors.append(thread)
            thread.start()
        if wait:
            self.until_ready([worker])
        return worker

    def workers(self, name: str, count: int, first: int = 1) -> list[Worker]:
        """Start several workers side by side, NAME-`first` and on, and wait until all take jobs."""
        workers = [self.worker(f"{name}-{number}", wait=False) for number in range(first, first + count)]
        self.until_ready(workers)
        return workers

    def scheduler(self, name: str, job: str, every: float, wait: bool = True) -> Worker:
        """Start a scheduler that puts in `job` each `every` leases, and wait until it is at it.

        The job ends as soon as it has begun, unless it is ordered else.
        """
        self.desk.plan([job], [FINISH])
        self.history.add("scheduled", job=job, every=every * self.lease)
        options = {"job": job, "every": every * self.lease, "poll": self.lease * POLL}
        scheduler = self._start("scheduler", name, options, {}, None)
        if wait:
            self.until_ready([scheduler])
        return scheduler

    def relay(self) -> Relay:
        """A relay between a worker and where its jobs are: start the worker with `via=` it."""
        from bench.relay import Relay  # late: a twin's worker process loads this file

        return self._open.enter_context(Relay(self._stage.url))

    def clock(self, name: str) -> Clock:
        """A wall clock that the bench can set: start a worker with `clock=` it."""
        from bench.clock import Clock  # late, as above

        return Clock(self._stage.logs / f"{name}.clock", self._stage.run_id)

    def until_ready(self, processes: Iterable[Worker]) -> None:
        """Wait until each is at work. Raises AdapterFault when one ends before, or does not say so."""
        for worker in processes:
            pid = worker.pid
            if not self.wait(f"{worker.name} ready", partial(is_ready_or_gone, pid=pid), waits.PATIENCE / self.lease):
                late = f"did not say that it is ready in {waits.PATIENCE:g} s{last_words(worker.log)}"
                raise AdapterFault(f"worker {worker.name} {late}")
            events = self.history.events()
            if not is_ready(events, pid):
                status = exit_of(events, pid)
                assert status is not None
                end = f"{how(status['status'])} before it was ready{last_words(worker.log)}"
                raise AdapterFault(f"worker {worker.name} ended {end}")

    def dismiss(self, worker: Worker) -> None:
        """Tell a process to stop, as the end of its part and not as a fault, and give it a lease's time to go."""
        worker.dismissed = True
        worker.signal(signal.SIGTERM)
        self.exited_within(worker, 1)

    def close(self) -> None:
        """End all processes."""
        self._closing.set()
        for thread in self._supervisors:
            thread.join()
        for worker in self.processes:
            worker.close()
        for producer in self.producers:
            producer.close()
        self._open.close()

    def _in_seconds(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Worker options as they are sent: what is in leases, in seconds."""

        def seconds(value: Any) -> Any:
            if isinstance(value, (tuple, list)):
                return [seconds(each) for each in value]
            return None if value is None else value * self.lease

        timed = ("poll", "reclaim_every", "grace", "backoff")
        return {key: seconds(value) if key in timed else value for key, value in options.items()}

    def _start(
        self, command: str, name: str, options: Mapping[str, Any], extra: Mapping[str, str], clock: Clock | None
    ) -> Worker:
        environment = self._stage.environment | {
            "LEASEPROOF_WITNESS": self._stage.witness,
            "LEASEPROOF_TOKEN": self.desk.token,
            "LEASEPROOF_WORKER": name,
            "LEASEPROOF_OPTIONS": json.dumps(options),
            "PGAPPNAME": name,
            **extra,
            **({} if clock is None else clock.environment),
        }
        # A preloaded library needs a program that starts afresh: a fork has been loaded already.
        launch = self._stage.launch if clock is None else self._stage.launch_cold
        process = Worker(name, command, launch, environment, self._stage.logs / f"{name}.log", self.history)
        self.processes.append(process)
        self.history.add("spawned", worker=name, pid=process.pid, options=options)
        process.watch()
        return process

    def _supervise(self, worker: Worker, start: partial[Worker]) -> None:
        """Start another whenever one has ended, as a supervisor does."""
        try:
            while not self._closing.is_set():
                if self.history.until(partial(exit_of, pid=worker.pid), 0.1) and not self._closing.is_set():
                    worker = start()
        except Closed:
            return
