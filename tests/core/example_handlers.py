"""Handlers for the tests of the command line."""

from collections.abc import Mapping

from queue_core import Context, Handler, Job


def _print(job: Job, context: Context) -> None:
    print(job.payload["text"], flush=True)


handlers: Mapping[str, Handler] = {"print": _print}
