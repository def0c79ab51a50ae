"""The task and the worker's settings, in a module of their own: `arq` imports them by name."""

import json
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

from arq import Retry, func
from arq.connections import RedisSettings

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
OPTIONS = json.loads(os.environ.get("LEASEPROOF_OPTIONS", '{"slots": 1, "queue": null}'))  # a control process has none
REDIS = RedisSettings.from_dsn(os.environ["LEASEPROOF_REDIS"])
# Ownership lasts for it and 10 s more, and a job no longer than it. What the bench kills is half of a lease old.
JOB_TIMEOUT = max(15.0, float(os.environ["LEASEPROOF_LEASE"]) - 10) if TUNED else 300.0
LINES: list[kit.Line] = []


async def puppet(ctx: dict[str, Any], job: str) -> None:
    try:
        await kit.obey_async(job, ctx["job_try"])
    except kit.OrderedFailure as failure:
        if failure.kind == "permanent" or not TUNED:
            raise
        least, most = OPTIONS["backoff"] or (0.0, 0.0)
        wait = min(most, least * 2 ** (ctx["job_try"] - 1))
        raise Retry(defer=failure.retry_in or wait) from failure


async def startup(ctx: dict[str, Any]) -> None:
    LINES.append(kit.ready())


class WorkerSettings:
    functions: ClassVar[list[Any]] = [puppet]
    redis_settings = REDIS
    queue_name = OPTIONS["queue"] or "arq:queue"
    on_startup = startup
    max_jobs = OPTIONS["slots"]
    if TUNED:
        # Tries are counted against a limit of the function's.
        functions = [func(puppet, name=f"puppet_{tries}", max_tries=tries) for tries in range(1, 10)]
        job_timeout = JOB_TIMEOUT
        poll_delay = 0.1
        job_completion_wait = JOB_TIMEOUT if OPTIONS.get("grace") is None else OPTIONS["grace"]
