"""beanstalkd with a binlog: a server an arm."""

from pathlib import Path

from bench.services.daemon import Daemon, Private


class BeanstalkdServer(Daemon):
    """beanstalkd, which writes each change through to its binlog before it answers."""

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    def command(self) -> list[str | Path]:
        return [self.program.path, "-l", "127.0.0.1", "-p", str(self.ports[0]), "-b", self.home, "-f", "0"]


class Beanstalkd(Private):
    """Where arms have their beanstalkd from."""

    name = "beanstalkd"
    cure = "apt install beanstalkd or brew install beanstalkd"
    programs = ("beanstalkd",)
    version_option = "-v"
    daemon = BeanstalkdServer
