"""The means of a lint: one arm under way, what its subject declares, and how a rule is asked after."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Unpack

import psutil

from bench import waits
from bench.contract import AdapterFault
from bench.events import exit_of, running, starts
from bench.history import Event
from bench.job import Job
from bench.lint.findings import Findings
from bench.lint.wire import Wire
from bench.orders import FINISH
from bench.script import Run, Unmet
from bench.staff import Options
from bench.subject import Worker


class Look:
    """`options` and `tells` are what `describe` declares; whatever is not as it must be goes into `findings`."""

    def __init__(self, run: Run, findings: Findings, wire: Wire) -> None:
        self.run = run
        self.findings = findings
        self.wire = wire
        self.describe: Mapping[str, Any] = run.history.events()[0]["subject"]
        self.options = frozenset(self.describe.get("options", []))
        self.tells = frozenset(self.describe.get("tells", []))
        self.drops = False
        """Whether the queue has dropped what came in before there was a worker for it."""

    def expect(self, holds: bool, where: str, what: str, rule: str, cure: str) -> None:
        """A rule that holds, or a finding."""
        if not holds:
            self.findings.add(where, what, rule, cure)

    def wait(self, what: str, found: Callable[[Sequence[Event]], Any], longer: float = 0.0) -> bool:
        """Wait with all the bench's patience, or so many seconds more; whether it came."""
        return self.run.wait(what, found, (waits.PATIENCE + longer) / self.run.lease)

    def need(self, what: str, found: Callable[[Sequence[Event]], Any], rule: str, cure: str) -> None:
        """Wait for what all the rest needs. Raises AdapterFault when it does not come."""
        self._undisturbed()
        try:
            self.run.need(what, found)
        except Unmet:
            if self.run.adapter_fault():  # which tells more
                raise
            self.give_up("worker", f"{what} in {waits.PATIENCE:g} s", rule, cure)

    def _undisturbed(self) -> None:
        """Whoever talks rubbish is hung up on by the witness, and all that comes of it tells nothing new."""
        trouble = [event["text"] for event in self.run.history.events() if event["event"] == "trouble"]
        if trouble:
            raise AdapterFault(trouble[0])

    def give_up(self, where: str, what: str, rule: str, cure: str) -> NoReturn:
        """A finding after which all the rest would mean nothing. Raises AdapterFault."""
        self.findings.add(where, what, rule, cure)
        raise AdapterFault(what)

    def begun(self, job: Job, why: str) -> Event:
        """Wait until a job is begun: its first start. Raises AdapterFault when it is not."""
        self.need(
            f"{job.name} {why}, and was not begun",
            lambda events: starts(events, job.name),
            "A worker that is ready runs the jobs that are queued; the body of each is a puppet.",
            "have the worker look at the queue that `enqueue` fills, and its handler call the kit's `obey`",
        )
        return starts(self.run.history.events(), job.name)[0]

    def told(self, event: str, found: Callable[[Sequence[Event]], Any], what: str, rule: str) -> None:
        """An event that `tells` promises comes in the time that the queue declares, and some patience."""
        terms = (self.describe.get(each) or 0.0 for each in ("lease", "reclaim_every", "slack"))
        came = self.wait(f"`{event}`", found, sum(terms))
        self.expect(came, "describe, `tells`", what, rule, f"send it, or leave `{event}` out of `tells`")

    def keeps(self, holds: bool, option: str, what: str, rule: str) -> None:
        """An option that is declared and taken makes the difference that it must."""
        cure = f"pass `{option}` on to the queue; if the queue itself does not keep it, leave it out of `options`"
        self.expect(holds, f"describe, the option `{option}`", what, f"`{option}`: {rule}.", cure)

    @contextmanager
    def excused(self, where: str, rule: str) -> Iterator[None]:
        """What the control process can't do inside of it is a finding, and no reason to end."""
        try:
            yield
        except AdapterFault as error:
            if "could not do" not in str(error):
                raise
            self.findings.add(where, str(error), rule, "see the log of the control process")

    def attempt(self, option: str, trial: Callable[["Look"], None]) -> None:
        """Try an option, where it is declared; what can't be done is a finding."""
        if option in self.options:
            with self.excused(f"describe, the option `{option}`", f"`options` declares `{option}`."):
                trial(self)
            self._let_go()

    def _let_go(self) -> None:
        """End what still runs: a trial that was broken off may have left a job that waits for its orders."""
        events = self.run.history.events()
        for name in {event["job"] for event in events if event["event"] == "enqueued"}:
            if running(events, name):
                self.run.desk.tell(name, FINISH)

    def worker(self, name: str, **more: Unpack[Options]) -> Worker:
        """Start a worker with all that it declares to take, and look at its processes. Raises AdapterFault."""
        wishes: Options = {**more}
        if "listen" in self.options:
            wishes["listen"] = True
        if "backoff" in self.options:
            wishes["backoff"] = (0.1, 0.2)
        if "grace" in self.options:
            wishes["grace"] = 5.0  # some use all of it
        worker = self.run.worker(name, **wishes)
        ready = next(e for e in self.run.history.events() if e["event"] == "ready" and e["worker"] == name)
        self.of_its_tree(worker, ready, f"the line of worker {name}, `ready`")

        def unmarked() -> list[psutil.Process]:
            return [process for process in worker.tree() if not self._is_marked(process)]

        self.run.poll(lambda: not unmarked(), within=1)  # one that was just begun shows no environment yet
        self.expect(
            not (found := unmarked()),
            f"worker {name}",
            f"LEASEPROOF_RUN is not in the environment of {', '.join(map(_named, found))}",
            "Leave LEASEPROOF_RUN in the environment of your children, or they may be left behind.",
            "pass the whole environment on to child processes",
        )
        return worker

    def dismiss(self, process: Worker) -> None:
        """Tell a worker, or a scheduler, to stop, as the end of its part; it is gone then."""
        self.run.dismiss(process)
        process.close()

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("LEASEPROOF_RUN") == self.run._stage.run_id
        except psutil.Error:  # gone meanwhile, or not to be looked at
            return True

    def of_its_tree(self, worker: Worker, event: Event, where: str) -> None:
        """Whoever speaks to the witness for a worker is one of its processes."""
        pids = {process.pid for process in worker.tree()}
        self.expect(
            not pids or (event["worker"] == worker.name and event["pid"] in pids),
            where,
            f"it says worker {event['worker']} and pid {event['pid']}; {worker.name} has the processes {pids}",
            "`worker` is LEASEPROOF_WORKER, and `pid` the process that speaks.",
            "let the kit say who speaks, in the process that runs the job",
        )

    def is_gone(self, worker: Worker) -> bool:
        """Whether a worker has ended, or does so just now."""
        return self.run.history.until(lambda events: exit_of(events, worker.pid), 1.0) is not None


def _named(process: psutil.Process) -> str:
    try:
        return f"{process.pid} ({process.name()})"
    except psutil.Error:
        return str(process.pid)
