"""The only worker."""

import os

import leaseproof_kit as kit
from oban import Cancel, Job, worker

RETRY_AFTER = 1
"""Seconds, a whole number: the least that a `backoff` can be."""


@worker(queue="default")
class Puppet:
    """Obeys; a permanent failure is a cancellation here."""

    async def process(self, job: Job) -> Cancel | None:
        try:
            await kit.obey_async(job.args["job"], job.attempt)
        except kit.OrderedFailure as failure:
            if failure.kind == "permanent":
                return Cancel(str(failure))
            raise
        return None

    if os.environ["LEASEPROOF_PROFILE"] == "tuned":

        def backoff(self, job: Job) -> int:
            return RETRY_AFTER
