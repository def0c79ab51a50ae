"""The job and the worker class, in a module of their own: rq imports both by name."""

import os
import sys
from math import ceil
from pathlib import Path
from typing import Any

from redis import Redis
from rq import Worker, get_current_job
from rq.job import Job

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

CONNECTION = Redis.from_url(os.environ["LEASEPROOF_REDIS"])
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
# Its registry counts in whole seconds, cut off: an execution may be taken for dead a second before its time. A beat
# can't come more often than each second. So 3 s are the least with which a living one is never taken for dead.
TTL = max(3, ceil(float(os.environ["LEASEPROOF_LEASE"]))) if TUNED else 90


def puppet(job: str, retries: int) -> None:
    current = get_current_job()
    assert current is not None
    kit.obey(job, retries - (current.retries_left or 0) + 1)


class ShortWorker(Worker):
    """`rq worker --job-monitoring-interval 1 --maintenance-interval 1 --worker-ttl 16`, and no minute on top of a beat.

    A class, since a pool hands no options on to its workers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # It looks whether a cleanup is due when a wait for jobs is over: that lasts for the ttl less 15 seconds.
        super().__init__(*args, **kwargs, job_monitoring_interval=1, maintenance_interval=1, worker_ttl=16)

    def get_heartbeat_ttl(self, job: Job, working_time: float = 0.0) -> int:
        return TTL
