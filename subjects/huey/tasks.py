"""The queue and its task, in a module of their own: the consumer imports them by name."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from huey import RedisHuey
from huey.api import Task, TaskWrapper
from huey.signals import SIGNAL_INTERRUPTED

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
OPTIONS = json.loads(os.environ.get("LEASEPROOF_OPTIONS", "{}"))  # a control process has none
LINES: list[kit.Line] = []


def queue(name: str | None) -> tuple[RedisHuey, TaskWrapper]:
    huey = RedisHuey(name or "default", url=os.environ["LEASEPROOF_REDIS"])

    @huey.task(context=True)
    def puppet(job: str, attempts: int, task: Task) -> str:
        kit.obey(job, attempts - task.retries)
        return job  # of a task that returns nothing, nothing is kept

    return huey, puppet


huey, _ = queue(OPTIONS.get("queue"))


@huey.on_startup()
def started() -> None:
    if not LINES:  # each of its threads calls it
        LINES.append(kit.ready())


if TUNED:

    @huey.signal(SIGNAL_INTERRUPTED)
    def interrupted(signal: str, task: Task, *args: Any, **kwargs: Any) -> None:
        huey.enqueue(task)
