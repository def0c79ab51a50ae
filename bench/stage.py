"""What an arm runs on: made by the bench, the same for every arm of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.children import Launcher
from bench.scenario import Arm

if TYPE_CHECKING:
    from bench.postgres.cluster import Cluster  # late: a twin's worker process loads this file


@dataclass(frozen=True)
class Stage:
    """One arm's surroundings. `lease` is in seconds, `dsn` a database of the arm's own, `logs` a folder of its own.

    `launch_cold` starts a process afresh and forks none; `full` is the full size of a load scenario; `longest` is how
    many seconds a recovery may take to be waited for. `server` is the arm's own, if its scenario asks for one;
    `unsupported` says why it can't have what it asks for.
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
    server: Cluster | None = None
    unsupported: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What the control process and every worker get in their environment."""
        twin = {"LEASEPROOF_TWIN": self.arm.twin.path} if self.arm.twin else {}
        return {
            "LEASEPROOF_RUN": self.run_id,
            "LEASEPROOF_POSTGRES": self.dsn,
            "LEASEPROOF_LEASE": str(self.lease),
            "LEASEPROOF_SEED": str(self.seed),
            **twin,
        }

    @property
    def preparation(self) -> dict[str, float]:
        """What `prepare` is told, in seconds."""
        return {name: value * self.lease for name, value in self.arm.scenario.prepare.items()}

    def knob(self, name: str) -> float:
        """A number of the scenario's."""
        return self.arm.scenario.knob(name, self.article, self.full)
