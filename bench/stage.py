"""What an arm runs on: made by the bench, the same for every arm of a scenario."""

from dataclasses import dataclass
from pathlib import Path

from bench.children import Launcher
from bench.scenario import Arm


@dataclass(frozen=True)
class Stage:
    """One arm's surroundings. `lease` is in seconds, `dsn` a database of the arm's own, `logs` a folder of its own."""

    arm: Arm
    launch: Launcher
    lease: float
    article: bool
    seed: int
    dsn: str
    witness: str
    run_id: str
    logs: Path

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

    def knob(self, name: str) -> float:
        """A number of the scenario's."""
        return self.arm.scenario.knob(name, self.article)
