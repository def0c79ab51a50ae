"""pgbench, running the core's own statements: what PostgreSQL does of them, whoever asks."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from bench.postgres import sql
from bench.speed.figures import Contender
from bench.speed.ground import Ground
from bench.speed.queues import WITHIN, DrainError, Setting
from queue_core import Queue
from subjects.queue_core.drain import put_in


class Limit:
    """pgbench, running the core's own CLAIM and COMPLETE: what PostgreSQL does of them on this machine."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._program = ground.pgbench

    def contender(self, setting: Setting, jobs: int) -> Contender:
        """It, with as many jobs in a round as the queue that it is the limit of."""
        settings = f"the core's statements, -M prepared, {setting.words}"
        return Contender("pgbench", settings, lambda: self.drain(setting, jobs))

    def drain(self, setting: Setting, jobs: int) -> dict[str, float]:
        """As Drain.drain; what it measures by its own clock, without its connecting."""
        batch = setting.batch or 100
        clients, turns = setting.workers, -(-jobs // batch // setting.workers)
        with self._ground.database(setting.synchronous_commit) as dsn:
            with sql.session(dsn) as connection:
                put_in(Queue(connection), jobs)
            done = subprocess.run(
                [self._program, "-n", *f"-M prepared -c {clients} -j {clients} -t {turns} -f /dev/stdin".split(), dsn],
                env=self._ground.environment(),
                input=script(batch),
                capture_output=True,
                text=True,
                timeout=WITHIN,
            )
            with sql.session(dsn) as connection:
                [(left,)] = connection.execute("SELECT count(*) FROM jobs WHERE state <> 'done'").fetchall()
        found = re.search(r"^tps = ([\d.]+) \(without", done.stdout, re.MULTILINE)
        if done.returncode or not found or left > batch * setting.workers:
            raise DrainError(f"pgbench: {done.stderr.strip()[-2000:]} {left} of {jobs} jobs are not done")
        return {"rate": float(found[1]) * batch, "seconds": jobs / (float(found[1]) * batch), "jobs": jobs}


def script(batch: int) -> str:
    """A turn of a worker in pgbench's own words: its claim, and its finish of what it has got.

    The claim's answer is gathered into two arrays, since pgbench can't keep more than one row.
    """
    constants = {"worker": "'pgbench'", "queue": "'default'", "turn": "'-infinity'"}
    claim = filled(Queue.CLAIM, constants | {"limit": str(batch), "lease": "30", "version": "1", "id": "0"})
    complete = filled(Queue.COMPLETE, constants | {"ids": ":ids", "claims": ":claims"})
    arrays = "coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(claim), '{}') AS claims"
    return f"WITH got AS ({claim}) SELECT {arrays} FROM got \\gset\n{complete};\n"


def filled(statement: str, values: Mapping[str, str]) -> str:
    """A statement with its parameters filled in, on one line, as pgbench wants it."""
    one_line = " ".join(line.split("--")[0].strip() for line in statement.splitlines())
    return re.sub(r"%\((\w+)\)s", lambda name: values[name[1]], one_line).strip()
