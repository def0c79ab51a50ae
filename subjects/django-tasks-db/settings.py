"""A Django project's settings: as little as the queue needs, and Django's own defaults for the rest."""

import os

from psycopg.conninfo import conninfo_to_dict

_DSN = conninfo_to_dict(os.environ["LEASEPROOF_POSTGRES"])

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _DSN.pop("dbname"),
        "OPTIONS": _DSN,
        # Tuned, a worker looks too often for a connection each time.
        "CONN_MAX_AGE": None if os.environ["LEASEPROOF_PROFILE"] == "tuned" else 0,
        "CONN_HEALTH_CHECKS": os.environ["LEASEPROOF_PROFILE"] == "tuned",
    }
}
INSTALLED_APPS = ["django_tasks", "django_tasks_db"]
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": []}}
USE_TZ = True
