"""A worker that was killed and started again under its name is another worker: it must not keep its old job alive.

A name is easily given twice: that of a host or a pod, or one from a settings file. If a heartbeat renews all that is
held under the worker's name, the new process also renews the job that the dead one left, and its lease never runs out.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.kill import Kill
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from queue_core import Queue


class RenewsByName(Queue):
    """Everything as in the sound queue, but a heartbeat renews all leases that are held under the worker's name."""

    HEARTBEAT: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s), updated_at = now()
        WHERE j.leased_by = %(worker)s
            AND j.state = 'running'
        RETURNING j.id, j.claim
    """


SLACK = 2 * POLL + MARGIN  # one poll to reclaim and one to claim; the margin is for the machine


same_name_restart = Scenario(
    name="same-name-restart",
    claim="The job of a killed worker is back in time, and never runs twice at once, though its name is in use again.",
    row=14,
    origin="P",
    fault="kill -9 of the owner, before another worker of its name is started",
    sham="the owner is not killed, so that two workers of one name are at work",
    twins=[Twin(RenewsByName, "stranded")],
    checks=[recovered, no_overlap, nothing_lost],
    knobs={"interval": 0.5},
    needs=("names",),
    family="guards",
)

COLUMNS = ("id", "state", "leased_by", "lease_alive", "attempt", "claim")


@same_name_restart.script
def _(run: Run) -> None:
    interval = run.knob("interval")
    worker = run.worker("worker")
    job = run.enqueue()
    job.until_started(by=worker)

    job.at(0.3)
    run.fault(Kill(worker, during=job))
    run.worker("worker", slots=2)  # one is for the abandoned job, if its own reclaim comes before the rescuer's
    (other,) = run.load(1, "other", orders=[])
    other.until_started()  # so that the new worker has something to renew
    run.observe("the first worker's job, and the second's", job, other, columns=COLUMNS)

    run.worker("rescuer", reclaim_every=interval)
    job.runs_within(1 + interval + SLACK, bound="lease + reclaim interval, two polls and a margin")
    run.observe("the same, after lease and reclaim interval", job, other, columns=COLUMNS)

    job.finish()
    other.finish()
    run.all_finished_within([job, other], 5, bound="they were told to end")
    run.observe("the end", job, other, columns=COLUMNS)
