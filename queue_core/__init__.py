"""A small job queue in PostgreSQL: leases, heartbeats, reclaim and fencing, and a worker that keeps them."""

from queue_core.backoff import Backoff
from queue_core.handler import Context, Handler, Permanent, RateLimited, Transient
from queue_core.metrics import Collector, Limits, Stats, alarms
from queue_core.observer import Observer
from queue_core.once import Once
from queue_core.queue import Job, NewJob, Queue
from queue_core.retention import Retention
from queue_core.scheduler import Schedule, Scheduler
from queue_core.worker import DRAINED, FORCED, Worker

__all__ = [
    "DRAINED",
    "FORCED",
    "Backoff",
    "Collector",
    "Context",
    "Handler",
    "Job",
    "Limits",
    "NewJob",
    "Observer",
    "Once",
    "Permanent",
    "Queue",
    "RateLimited",
    "Retention",
    "Schedule",
    "Scheduler",
    "Stats",
    "Transient",
    "Worker",
    "alarms",
]
