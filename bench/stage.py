"""What an arm runs on: made by the bench, the same for every arm of a scenario."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench import services
from bench.children import Launcher
from bench.scenario import Arm

if TYPE_CHECKING:
    from bench.postgres.cluster import Cluster  # late: a twin's worker process loads this file
    from bench.services.daemon import Daemon


@dataclass(frozen=True)
class Stage:
    """One arm's surroundings. `lease` is in seconds, `logs` is a folder of its own.

    `dsn` is a database of the arm's own, empty where the subject needs none, and `folder` is for a queue that lives in
    files; `scratch` is for temporary ones. `launch_cold` starts a process afresh and forks none; `full` is the full
    size of a load scenario; `longest` is how many seconds a recovery may take to be waited for.
    `server` is the arm's own, if its scenario asks for one; `unsupported` says why it can't have what it asks for.
    `uses` are the services that the subject needs; `services` is what it has of them besides PostgreSQL, as its
    processes find it in their environment, and `profile` is what they find there of theirs.
    """

    arm: Arm
    launch: Launcher
    launch_cold: Launcher
    lease: float
    article: bool
    full: bool
    longest: float
    seed: int
    dsn: str
    witness: str
    run_id: str
    logs: Path
    folder: Path
    scratch: Path
    server: Cluster | Daemon | None = None
    unsupported: str = ""
    uses: Collection[str] = ("postgres",)
    services: Mapping[str, str] = field(default_factory=dict)
    profile: Mapping[str, str] = field(default_factory=dict)

    @property
    def variable(self) -> str:
        """In which the subject's processes find where its jobs are: in the first of the services that it uses."""
        return services.variable(next(iter(self.uses), "postgres"))

    @property
    def url(self) -> str:
        """Where its jobs are."""
        return self.environment[self.variable]

    @property
    def environment(self) -> dict[str, str]:
        """What the control process and every worker get in their environment."""
        twin = {"LEASEPROOF_TWIN": self.arm.twin.path} if self.arm.twin else {}
        return {
            "LEASEPROOF_RUN": self.run_id,
            **({"LEASEPROOF_POSTGRES": self.dsn} if self.dsn else {}),
            "LEASEPROOF_FOLDER": str(self.folder),
            "TMPDIR": str(self.scratch),  # what a killed process leaves there goes with the run
            "LEASEPROOF_LEASE": str(self.lease),
            "LEASEPROOF_SEED": str(self.seed),
            **self.services,
            **self.profile,
            **twin,
        }

    @property
    def preparation(self) -> dict[str, float]:
        """What `prepare` is told, in seconds."""
        return {name: value * self.lease for name, value in self.arm.scenario.prepare.items()}

    def knob(self, name: str) -> float:
        """A number of the scenario's."""
        return self.arm.scenario.knob(name, self.article, self.full)
