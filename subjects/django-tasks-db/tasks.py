"""The only task."""

import leaseproof_kit as kit
from django_tasks import TaskContext, task


@task(takes_context=True)
def puppet(context: TaskContext, job: str) -> None:
    kit.obey(job, context.attempt)
