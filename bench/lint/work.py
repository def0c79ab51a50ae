"""What workers and puppets do, held against what they are told and what is declared."""

from collections.abc import Callable, Sequence
from itertools import combinations

from bench import waits
from bench.children import how, last_words
from bench.events import ENDINGS, exit_of, starts
from bench.faults.kill import Kill
from bench.faults.terminate import Terminate
from bench.history import Event
from bench.job import Job
from bench.lint.control import INSPECT
from bench.lint.look import Look
from bench.orders import BORROW, CLOCK, FINISH, Order, effect, spin
from bench.script import Unmet
from bench.subject import Worker

SHORT = 0.05
"""Seconds: how long a puppet sleeps, spins and blocks."""

ORDERS: Sequence[tuple[str, Order, str]] = [
    ("", effect("lint"), "effect"),
    ("", CLOCK, "clock"),
    ("", {"order": "sleep", "seconds": SHORT}, ""),
    ("", spin(SHORT), ""),
    ("", {"order": "block", "seconds": SHORT}, ""),
    ("idempotency", effect("lint-once", "once"), "effect"),
    ("idempotency", effect("lint-once", "once"), "withheld"),
    ("deadline", effect("lint-owner", "owner"), "effect"),
    ("connection", BORROW, "borrowed"),
    ("", effect("lint"), "effect"),
]
"""What a puppet is ordered where an option is declared, and what it must say to it."""


def in_order(look: Look, worker: Worker, jobs: Sequence[Job]) -> None:
    """A worker of one slot runs the jobs in their order; the first is ordered all that a puppet can do."""
    run, jobs = look.run, _taken(look, worker, jobs)
    names = [job.name for job in jobs]
    first = next(job for job in jobs if job.starts)
    states = {job: row["state"] for job, row in zip(jobs, run.rows(jobs), strict=True)}
    look.expect(
        states[first] in ("running", "absent"),
        INSPECT,
        f"{first.name} runs and no other does, and its row, id {first.id}, is {states[first]}",
        "One id for each job, in order; the state of a job is `running` while it runs.",
        "answer `enqueue` with the ids in the order of its jobs, and map the queue's own states",
    )
    ahead = [job.name for job in jobs if not job.is_running and states[job] != "queued"]
    if ahead and states[first] != "queued":
        look.findings.add(
            INSPECT,
            f"{first.name} runs and no other does, and {' and '.join(ahead)} is no longer `queued`",
            "`prefetch` is how many jobs a worker claims ahead of its slots: it was told 0.",
            "have the worker claim no more than it runs, if the queue can be told so",
            blame="nobody",
        )
    _obey(look, worker, first)
    run.desk.plan([name for name in names if name != first.name], [FINISH])
    _finish(look, worker, first)
    begun = sorted(jobs, key=lambda job: float(look.begun(job, "was the next in the queue")["t"]))
    events = run.history.events()
    look.expect(
        not any(_overtaken(events, *pair) for pair in combinations(jobs, 2)),
        "worker, the order of jobs",
        f"{', '.join(names)} were enqueued, and begun as {', '.join(job.name for job in begun)}",
        "The order of enqueueing is the order of the queue: none is over before one that came earlier is begun.",
        "put the jobs of a request in one after another, and run `slots` jobs at a time and no more",
    )


def _taken(look: Look, worker: Worker, jobs: Sequence[Job]) -> Sequence[Job]:
    """The jobs, one of which is begun; others, where a queue drops what nobody was there for: a scenario asks that."""

    def begun(jobs: Sequence[Job]) -> Callable[[Sequence[Event]], bool]:
        return lambda events: any(starts(events, job.name) for job in jobs)

    if look.wait("one of the jobs is begun", begun(jobs)):
        return jobs
    fresh = [*look.run.load(2, "lint-new", orders=[]), look.run.enqueue("lint-new-3")]
    look.need(
        "no job was begun",
        begun([*jobs, *fresh]),
        "A worker that is ready runs the jobs that are queued; the body of each is a puppet.",
        "have the worker look at the queue that `enqueue` fills, and its handler call the kit's `obey`",
    )
    taken, left = (fresh, jobs) if begun(fresh)(look.run.history.events()) else (jobs, fresh)
    look.run.desk.plan([job.name for job in left], [FINISH])
    look.drops = taken is fresh
    if look.drops:
        look.findings.add(
            f"worker {worker.name}",
            f"it began none of the jobs that were there before it in {waits.PATIENCE:g} s, and then a new one",
            "A worker that is ready runs the jobs that are queued, also those that were there before it.",
            "nothing, if the queue itself drops what came before its first worker: `first-worker` tells that of it",
            blame="nobody",
        )
    return taken


def _overtaken(events: Sequence[Event], earlier: Job, later: Job) -> bool:
    """Whether a job was begun only when a later one was over. What runs side by side was begun at once, in no order."""
    over = next((i for i, e in enumerate(events) if e["event"] in ENDINGS and e["job"] == later.name), len(events))
    return not starts(events[:over], earlier.name)


def _obey(look: Look, worker: Worker, job: Job) -> None:
    """Order a puppet one thing after another."""
    start = look.begun(job, "was enqueued")
    where = f"the puppet of {job.name}"
    look.of_its_tree(worker, start, f"{where}, `started`")
    apart = start["pid"] != worker.pid
    look.expect(
        apart == look.describe.get("children", False),
        f"{where}, `started`",
        f"it runs in the process {start['pid']}, and the worker's is {worker.pid}",
        "`children` in `describe` says whether jobs run in processes of their own, below the worker's.",
        f"describe `children` as {str(apart).lower()}",
    )
    look.expect(
        start["attempt"] in (None, 0, 1),  # 0 has been told already: it breaks the schema
        f"{where}, `started`",
        f"its attempt is {start['attempt']}, and it is run for the first time",
        "`attempt` counts from 1, and is null where the queue does not tell it.",
        "add what is missing to 1, or say null",
    )
    for option, order, answer in ORDERS:
        if not option or option in look.options:
            said = _order(look, job, start["execution"], order, answer)
            if answer in said:
                continue
            if "died" in said and look.is_gone(worker):
                raise Unmet  # The end of the worker tells all.
            shown = order["order"] + (f" with the guard {order['guard']}" if "guard" in order else "")
            look.give_up(
                f"describe, the option `{option}`" if option else where,
                f"ordered {shown}, a puppet said {', '.join(said) or 'nothing'}",
                f"It says `{answer}`." + (f" `options` declares `{option}`." if option else ""),
                f"give the kit's puppet its tool, or leave `{option}` out of `options`" if option else "use the kit's",
            )
    if "renewed" in look.tells:
        look.told(
            "renewed",
            lambda events: any(e["event"] == "renewed" and job.name in e["kept"] for e in events),
            f"`renewed` did not come with {job.name} among `kept`, which {worker.name} ran all the while",
            "`renewed` follows each heartbeat that was answered.",
        )


def _order(look: Look, job: Job, execution: int, order: Order, answer: str) -> list[str]:
    """Give one order; what the puppet said to it, until it was the answer, or its end."""
    history = look.run.history
    before = len(history.events())
    job.order(order, execution=execution)

    def said(events: Sequence[Event]) -> list[str]:
        mine = ((i, e["event"]) for i, e in enumerate(events) if e.get("execution") == execution)
        return [event for i, event in mine if event in ENDINGS or (i >= before and event != "ordered")]

    if answer:
        look.wait(f"{job.name} says {answer}", lambda events: {answer, *ENDINGS} & set(said(events)))
        return said(history.events())
    return [answer]


def _finish(look: Look, worker: Worker, job: Job) -> None:
    job.finish()
    look.need(
        f"{job.name} was ordered to finish, and did not say that it has",
        lambda events: any(e["event"] in ENDINGS and e["job"] == job.name for e in events),
        "Ordered `finish`, a puppet says `finished`, hangs up, and returns.",
        "use the kit's puppet",
    )
    if "outcome" in look.tells:
        look.told(
            "outcome",
            lambda events: any(e["event"] == "outcome" and e["job"] == job.name for e in events),
            f"`outcome` did not come when {job.name} had finished at {worker.name}",
            "`outcome` follows each finish that the queue took or refused.",
        )


def slots(look: Look) -> None:
    """A worker of two slots, beside one of one, makes three jobs that run at the same time; else it is noted."""
    run = look.run
    wide = look.worker("lint-wide", slots=2)
    jobs = [run.enqueue(f"lint-slot-{number}") for number in (1, 2, 3)]
    at_once = run.wait(
        "three jobs at once", lambda _: all(job.is_running for job in jobs), waits.PATIENCE / 10 / run.lease
    )
    for job in jobs:
        job.finish()
    if not at_once and look.describe.get("slots", 2) > 1:
        look.findings.add(
            f"worker {wide.name}",
            "it has 2 slots, and runs one job at a time",
            "`slots` is how many jobs a worker runs at a time.",
            "run so many at once, or start so many processes below one; if the queue can't, describe `slots` as 1",
            blame="nobody",
        )
    look.dismiss(wide)


def reclaimed(look: Look, worker: Worker) -> Worker:
    """Where workers declare to tell of their reclaims: kill the worker, and start another; who is there then."""
    if "reclaimed" not in look.tells:
        return worker
    job = look.run.enqueue("lint-orphan")
    look.begun(job, "was enqueued")
    look.run.fault(Kill(worker, during=job))
    rescuer = look.worker("lint-rescuer", reclaim_every=0.5)
    look.told(
        "reclaimed",
        lambda events: any(e["event"] == "reclaimed" and job.id in e["ids"] for e in events),
        f"`reclaimed` did not come with {job.id} among `ids`, whose worker was killed",
        "`reclaimed` follows each reclaim of the worker's own that put jobs back.",
    )
    job.finish()
    return rescuer


def stopped(look: Look, worker: Worker) -> None:
    """A worker that is told to stop in the middle of a job, which then ends, ends as it is described."""
    run, drain = look.run, look.describe["drain"]
    look.expect(
        worker.name in look.wire.open,
        f"the line of worker {worker.name}",
        "it was closed while the worker was alive",
        "The worker's own line is kept open as long as the process lives.",
        "keep the line that the kit's `ready` returns",
    )
    job = run.enqueue("lint-last")
    look.begun(job, "was enqueued")
    run.fault(Terminate(worker, during=job))
    job.finish()
    run.exited_within(worker, waits.PATIENCE / run.lease)
    ended = exit_of(run.history.events(), worker.pid)
    codes = [*drain["exit_codes"], *(drain.get("forced_codes", []) if "grace" in look.options else [])]
    said = f"it ended {how(ended['status'])}" if ended else f"it was still there {waits.PATIENCE:g} s later"
    if ended is None or ended["status"] not in codes:
        look.findings.add(
            f"worker {worker.name}",
            f"it was sent SIGTERM in the middle of a job, which then ended, and {said}{last_words(worker.log)}",
            f"`drain` says that it ends with {' or '.join(map(str, codes))}.",
            "handle SIGTERM as the queue's documentation tells its users to, and say in `drain` how a worker then ends",
            # Whoever does not end may be kept by the queue itself, and sigterm-drain says so of it.
            blame="adapter" if ended else "nobody",
        )


def undeclared(look: Look) -> None:
    """Events that workers send, and `tells` does not have."""
    said = {e["event"] for e in look.run.history.events() if e.get("worker")}
    for event in sorted(said & {"renewed", "outcome", "reclaimed"} - look.tells):
        look.findings.add(
            "describe, `tells`",
            f"workers send `{event}`, and `tells` does not have it",
            "What is not declared does not count: a scenario that needs it is `unsupported`.",
            f"add `{event}` to `tells`",
            blame="nobody",
        )
