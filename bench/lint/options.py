"""What `options` declares: each is taken, and makes the difference that it must. A worker of one slot is at work."""

from bench import waits
from bench.events import starts
from bench.job import Job
from bench.lint.look import Look
from bench.orders import FINISH, fail


def max_attempts(look: Look) -> None:
    job = look.run.enqueue("lint-failing", max_attempts=1, orders=[fail("as ordered")])
    look.begun(job, "was enqueued")
    look.run.poll(lambda: job.row["state"] in ("failed", "absent"), waits.PATIENCE / look.run.lease)
    state = job.row["state"]
    what = f"a job of one attempt has failed once, was begun {job.starts} times, and is {state}"
    look.keeps(state in ("failed", "absent") and job.starts == 1, "max_attempts", what, "after so many it has failed")


def priority(look: Look) -> None:
    before = look.run.enqueue("lint-before")
    look.begun(before, "was enqueued")
    names, asked = ["lint-low", "lint-high"], look.run.history.now()
    look.run.desk.plan(names, [FINISH])
    jobs = [{"job": name, "priority": priority} for name, priority in zip(names, (1, 9), strict=True)]
    # Both at once: who claims ahead must have had the choice.
    low, high = look.run.enqueued(names, look.run.ask("enqueue", jobs=jobs), "job", {}, asked)
    before.finish()
    first, second = look.begun(high, "was enqueued"), look.begun(low, "was enqueued")
    what = "a job of priority 9 was begun after one of priority 1"
    look.keeps(first["t"] < second["t"], "priority", what, "higher goes first")


def delay(look: Look) -> None:
    asked, seconds = look.run.history.now(), min(2 * look.run.lease, waits.PATIENCE / 3)
    job = look.run.enqueue("lint-later", delay=seconds / look.run.lease, orders=[FINISH])
    waited = look.begun(job, "was due")["t"] - asked
    what = f"a job with a delay of {seconds:g} s was begun after {waited:.2f} s"
    # Whether it is begun a moment early is asked by a scenario: some queues count in whole seconds.
    look.keeps(waited >= seconds / 2, "delay", what, "seconds before it may be run")


def queue(look: Look) -> None:
    elsewhere = look.run.enqueue("lint-elsewhere", queue="lint-other", orders=[FINISH])
    here = look.run.enqueue("lint-here", orders=[FINISH])
    look.begun(here, "was enqueued")
    what = "a worker of the default queue ran a job of another"
    look.keeps(not elsewhere.starts, "queue", what, "a worker works on one queue only")
    other = look.worker("lint-other", queue="lint-other")
    if look.drops:
        elsewhere = look.run.enqueue("lint-elsewhere-2", queue="lint-other", orders=[FINISH])
    look.begun(elsewhere, "was put into the queue of lint-other")
    look.dismiss(other)


def key(look: Look) -> None:
    job = look.run.enqueue("lint-key", key="lint")
    again = look.run.enqueue("lint-key-again", key="lint")
    what = f"while the job {job.id} of a key was alive, another was put in: {again.id}"
    look.keeps(again.id == job.id, "key", what, "the id that is answered is that of the job that is alive")
    for each in (job, again):
        each.finish()
    look.begun(job, "was enqueued")


def version(look: Look) -> None:
    newer = look.worker("lint-newer", version=2)
    for number in (1, 2):
        job = look.run.enqueue(f"lint-version-{number}", version=number, orders=[FINISH])
        begun = look.begun(job, f"has a payload of version {number}, which the worker lint-newer can read")
    what = f"the worker {begun['worker']} of version 1 began a job of version 2"
    look.keeps(begun["worker"] == newer.name, "version", what, "what comes in a newer form is left to others")
    look.dismiss(newer)


def prefetch(look: Look) -> None:
    run = look.run
    ahead = look.worker("lint-ahead", prefetch=1)
    jobs = [run.enqueue(f"lint-ahead-{number}") for number in (1, 2, 3)]
    run.poll(lambda: all(job.row["state"] != "queued" for job in jobs), waits.PATIENCE / run.lease)
    taken = [job for job in jobs if job.row["state"] != "queued"]
    begun = [job for job in jobs if job.is_running]
    what = f"of three jobs two workers of one slot run {len(begun)}, and {len(taken)} are no longer `queued`"
    look.keeps(len(taken) == 3 and len(begun) < 3, "prefetch", what, "how many more a worker claims ahead, which was 1")
    for job in jobs:
        job.finish()
    look.dismiss(ahead)


def transaction(look: Look) -> None:
    run = look.run
    run.ask("transaction", do="begin")
    run.ask("execute", statement="SELECT 1")
    run.desk.plan(["lint-undone"], [FINISH])
    (id,) = run.ask("enqueue", jobs=[{"job": "lint-undone"}])["ids"]
    run.ask("transaction", do="rollback")
    state = Job(run, "lint-undone", id).row["state"]
    what = f"a job is {state} although the transaction that it was put in by was rolled back"
    look.keeps(state == "absent", "transaction", what, "what is not committed must not be there")
    run.ask("transaction", do="begin")
    kept = run.enqueue("lint-kept", orders=[FINISH])
    run.ask("transaction", do="commit")
    look.begun(kept, "was put in by a transaction that was committed")


def stats(look: Look) -> None:
    look.run.ask("stats", limits={"depth": 0, "oldest": 0.0, "silence": 0.0, "expired": 0})


def explain(look: Look) -> None:
    look.run.ask("explain")


def purge(look: Look) -> None:
    removed = look.run.ask("purge", done_after=3600.0, failed_after=None, batch=100).get("removed")
    what = f"it removed {removed} jobs, all of them younger than an hour"
    look.keeps(removed == 0, "purge", what, "it deletes jobs so many seconds after they ended, null for never")


def scheduler(look: Look) -> None:
    process = look.run.scheduler("lint-scheduler", "lint-tick", every=1)
    came = look.wait("a tick", lambda events: starts(events, "lint-tick"))
    first = starts(look.run.history.events(), "lint-tick")[:1]
    what = "the puppet of its job said no `tick`" if came else "no job came"
    look.keeps(any("tick" in start for start in first), "scheduler", what, "a job at each tick, which says for which")
    look.dismiss(process)


TRIALS = {
    "max_attempts": max_attempts,
    "priority": priority,
    "delay": delay,
    "queue": queue,
    "key": key,
    "version": version,
    "prefetch": prefetch,
    "transaction": transaction,
    "stats": stats,
    "explain": explain,
    "purge": purge,
    "scheduler": scheduler,
}
"""How an option is tried. Those of a worker and of its handlers are told to it, and ordered, in work.py."""
