"""A small job queue in PostgreSQL: leases, heartbeats, reclaim and fencing, and a worker that keeps them."""

from queue_core.backoff import Backoff
from queue_core.handler import Context, Handler, Permanent
from queue_core.observer import Observer
from queue_core.queue import Job, NewJob, Queue, Stats
from queue_core.worker import DRAINED, FORCED, Worker

__all__ = [
    "DRAINED",
    "FORCED",
    "Backoff",
    "Context",
    "Handler",
    "Job",
    "NewJob",
    "Observer",
    "Permanent",
    "Queue",
    "Stats",
    "Worker",
]
