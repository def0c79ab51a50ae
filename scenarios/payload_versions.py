"""While two releases run side by side, each job goes to one that can read it, whichever release has put it in.

The new release must read what the old one has put in, so it upgrades the payload to its own form. The old release can't
read what the new one puts in, so it must leave those jobs alone.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.payloads import payloads_read
from bench.events import starts
from bench.faults.release import NewRelease
from bench.orders import FINISH
from bench.scenario import Scenario, Twin
from bench.script import POLL, Run
from queue_core import Job, Queue, Worker


class NoUpgrade(Worker):
    """Everything as in the sound worker, but its handlers get an old payload in the form in which it was put in."""

    def upgrade(self, job: Job) -> Job:
        return job


class TakesAnyVersion(Queue):
    """Everything as in the sound queue, but a claim takes payloads of every version, newer ones as well."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace(" AND version <= %(version)s", "")


payload_versions = Scenario(
    name="payload-versions",
    claim="In a rolling deploy the new release reads old payloads, and the old one leaves new payloads to it.",
    row=45,
    origin="A2",
    fault="a new release comes beside the old one, and with it a job whose payload has a new form",
    sham="the old release alone",
    twins=[Twin(NoUpgrade, "unreadable"), Twin(TakesAnyVersion, "unreadable")],
    checks=[payloads_read, recovered, nothing_lost],
    needs=("version", "outcome", "backoff", "max_attempts"),
    recovery=False,
)

SOON = (POLL, POLL)  # the backoff: its base and its cap
COLUMNS = ("id", "state", "leased_by", "attempt", "last_error")


@payload_versions.script
def _(run: Run) -> None:
    old = run.worker("old", backoff=SOON)
    first = run.enqueue("first")  # keeps the old release busy, so that the new one gets the job of the old form
    first.until_started(by=old)
    old_form = run.enqueue("old-form")

    # Attempts to spare: what is judged is whether one is wasted, and not what comes of it once all are.
    release = NewRelease(run, "new", version=2, backoff=SOON, max_attempts=100)
    run.fault(release)
    run.observe("who has the job of the old form, and who that of the new", old_form, *release.jobs, columns=COLUMNS)

    first.finish()
    behind = run.enqueue("behind", orders=[FINISH])  # whoever begins it has passed over the job of the new form
    run.wait("the old release has begun the last job", lambda events: starts(events, behind.name, old.name), within=1)
    run.observe("the same, after the old release was free to look", old_form, *release.jobs, columns=COLUMNS)

    old_form.finish()
    run.all_finished_within([first, old_form, behind], 10, bound="either release can read them")
    run.dismiss(old)  # the end of the deploy
    for job in release.jobs:
        job.finish()
    run.all_finished_within(release.jobs, 10, bound="the new release is idle")
    run.observe("the end", old_form, *release.jobs, columns=("id", "state", "attempt"))
