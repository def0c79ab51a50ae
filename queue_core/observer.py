"""How a program that runs a worker learns what it does."""

from queue_core.queue import Job


class Observer:
    """Told by a worker what it has done; does nothing by default. An exception raised here ends the worker.

    `renewed` is called on the heartbeat's thread, all else on the thread of `Worker.run`.
    """

    def ready(self) -> None:
        """The connections are open and the first claim is next."""

    def claimed(self, jobs: list[Job]) -> None:
        """These jobs were claimed; none has started."""

    def renewed(self, kept: list[Job], lost: list[Job]) -> None:
        """A heartbeat was answered and acted on: `kept` were renewed; `lost` are told so, or dropped if unstarted."""

    def outcome(self, job: Job, accepted: bool) -> None:
        """The database took, or refused, the end of a job: a completion or a failure."""

    def reclaimed(self, ids: list[int]) -> None:
        """The worker's own reclaim put these jobs back into the queue (often none)."""

    def stopping(self) -> None:
        """The worker was asked to stop and begins to drain."""
