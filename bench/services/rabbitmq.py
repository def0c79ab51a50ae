"""RabbitMQ: it takes seconds to boot, so there is one a run, and in it a vhost and a user for each arm.

They are made over the HTTP API of its management plugin: each call of rabbitmqctl boots an Erlang of its own.
"""

import base64
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bench.postgres.base import redact
from bench.services.base import Own, Program, ServiceError, Theirs, which
from bench.services.daemon import Daemon

WITHIN = 30.0
"""seconds that the HTTP API may take for an answer"""
_SCHEMES = {"amqp": ("http", 5672), "amqps": ("https", 5671)}
_BEYOND = 10000
"""by so much, by custom, the port of the HTTP API is higher than the one for AMQP"""
_SCRIPTS = Path("/usr/lib/rabbitmq/bin")
"""where Debian and Red Hat have them; theirs on PATH are only for root and the server's own user"""
_ALL = {"configure": ".*", "write": ".*", "read": ".*"}


class Epmd(Daemon):
    """Erlang's port mapper. A node starts one by itself, which outlives it, unless there is one already."""

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    def command(self) -> list[str | Path]:
        return [self.program.path, "-address", "127.0.0.1", "-port", str(self.ports[0])]


class RabbitServer(Daemon):
    """A node without neighbours, whose settings are its own and none of the machine's."""

    needs = 3
    within = 180.0

    def __init__(self, program: Program, home: Path, run_id: str) -> None:
        super().__init__(program, home, run_id)
        self._password = secrets.token_hex(16)
        self._epmd = Epmd(Program(which("epmd")[0], "of Erlang"), home / "epmd", run_id)

    @property
    def url(self) -> str:
        return f"amqp://leaseproof:{self._password}@127.0.0.1:{self.ports[0]}/%2F"

    @property
    def api(self) -> "Api":
        """What it is administered by."""
        return Api("http", "127.0.0.1", self.ports[1], "leaseproof", self._password)

    def command(self) -> list[str | Path]:
        return [self.program.path]

    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in super().environment().items() if not key.startswith(("RABBITMQ_", "ERL_"))}
        return {
            **kept,
            "HOME": str(self.home),  # of the cookie
            "RABBITMQ_NODENAME": f"leaseproof-{self._run_id}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.ports[0]),
            "RABBITMQ_DIST_PORT": str(self.ports[2]),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_CONF_ENV_FILE": str(self.home / "none"),
            "RABBITMQ_CONFIG_FILE": str(self.home / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.home / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.home / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.home / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.home),
            "RABBITMQ_LOGS": "-",
            "ERL_CRASH_DUMP": os.devnull,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd.ports[0]),
        }

    def launch(self) -> None:
        if not self._epmd.ports:
            self._epmd.start()
        (self.home / "plugins").write_text("[rabbitmq_management].\n")
        settings = {
            "default_user": "leaseproof",
            "default_pass": self._password,
            "management.tcp.ip": "127.0.0.1",
            "management.tcp.port": self.ports[1],
        }
        (self.home / "rabbitmq.conf").write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
        super().launch()

    def answers(self) -> bool:
        with suppress(ServiceError):
            self.api.do("GET", "whoami")
            return True
        return False

    def stop(self) -> None:
        self.kill()
        self._epmd.stop()
        super().stop()


class RabbitMQ(Own):
    """Where arms have their RabbitMQ from."""

    name = "rabbitmq"
    cure = "apt install rabbitmq-server or brew install rabbitmq"

    @classmethod
    def find(cls) -> Program:
        scripts = [*_SCRIPTS.glob("rabbitmq-server"), *which("rabbitmq-server")]
        if not scripts or not which("epmd"):
            raise ServiceError(f"no {cls.name} is installed: {cls.cure}")
        script = scripts[0]
        plugins = script.resolve().parents[1] / "plugins"
        versions = [path.name.removeprefix("rabbit-").removesuffix(".ez") for path in plugins.glob("rabbit-[0-9]*")]
        if not versions or not [*plugins.glob("rabbitmq_management-[0-9]*")]:
            raise ServiceError(f"{script} has no management plugin in {plugins}: {cls.cure}")
        return Program(script, versions[0])

    @classmethod
    def theirs(cls, url: str) -> "UserRabbitMQ":
        return UserRabbitMQ(url)

    def start(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._server = RabbitServer(self.find(), run_dir / self.name, run_dir.name)
        try:
            self._server.start()
        except BaseException:
            self._server.stop()
            raise
        self.version = f"{self._server.program}, a vhost an arm"

    @contextmanager
    def fresh(self, number: int) -> Iterator[str]:
        with vhost(self._server.api, f"leaseproof_{self._run_dir.name}_{number}", self._server.url) as url:
            yield url

    @contextmanager
    def own(self, number: int) -> Iterator[Daemon]:
        server = RabbitServer(self._server.program, self._run_dir / f"{self.name}-{number}", self._run_dir.name)
        try:
            server.start()
            yield server
        finally:
            server.stop()

    def stop(self) -> None:
        self._server.stop()


class UserRabbitMQ(Theirs):
    """The user's own, by whoever may administer it; its management plugin must be enabled."""

    name = "rabbitmq"

    def check(self) -> None:
        self._api = _administered(self._url)
        if "administrator" not in self._api.do("GET", "whoami")["tags"]:
            raise ServiceError(
                f"the user in {redact(self._url)} may not make a vhost for each arm: "
                "rabbitmqctl set_user_tags USER administrator, or leave the URL out, and the bench starts one"
            )
        self.version = f"{self._api.do('GET', 'overview')['rabbitmq_version']}, the user's, a vhost an arm"

    @contextmanager
    def fresh(self, number: int) -> Iterator[str]:
        with vhost(self._api, f"leaseproof_{self._run_id}_{number}", self._url) as url:
            yield url

    def tidy(self, run_id: str) -> None:
        api = _administered(self._url)
        for kind in ("vhosts", "users"):
            for each in api.do("GET", kind):
                if each["name"].startswith(f"leaseproof_{run_id}_"):
                    api.do("DELETE", f"{kind}/{each['name']}")


@contextmanager
def vhost(api: "Api", name: str, url: str) -> Iterator[str]:
    """A vhost and a user who may do all in it and nothing else, both of this name, as long as it lasts."""
    password, parts = secrets.token_hex(16), urlsplit(url)
    address = parts.netloc.rpartition("@")[2]
    api.do("PUT", f"vhosts/{name}", {})
    api.do("PUT", f"users/{name}", {"password": password, "tags": ""})
    api.do("PUT", f"permissions/{name}/{name}", _ALL)
    try:
        yield parts._replace(netloc=f"{name}:{password}@{address}", path=f"/{name}").geturl()
    finally:
        api.do("DELETE", f"vhosts/{name}")
        api.do("DELETE", f"users/{name}")


class Api:
    """The HTTP API of a server's management plugin."""

    def __init__(self, scheme: str, host: str, port: int, user: str, password: str) -> None:
        kind = HTTPSConnection if scheme == "https" else HTTPConnection
        self._where = f"{scheme}://{host}:{port}"
        self._connect = partial(kind, host, port, timeout=WITHIN)
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}

    def do(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """One request and what it answers, if anything. Raises ServiceError."""
        with closing(self._connect()) as connection:
            try:
                connection.request(method, f"/api/{path}", None if body is None else json.dumps(body), self._headers)
                response = connection.getresponse()
                answer = json.loads(response.read() or "null")
            except (OSError, HTTPException, ValueError, OverflowError) as error:
                raise ServiceError(
                    f"RabbitMQ's management plugin, which makes a vhost for each arm, does not answer at {self._where} "
                    f"({error}): rabbitmq-plugins enable rabbitmq_management, or leave the URL out, and the bench "
                    "starts one"
                ) from None
        if response.status >= 300 and (method, response.status) != ("DELETE", 404):
            raise ServiceError(f"RabbitMQ refused to {method} {path} at {self._where}: {response.reason}")
        return answer


def _administered(url: str) -> Api:
    """The API of the server behind a URL for AMQP. Raises ServiceError."""
    parts = urlsplit(url)
    try:
        scheme, usual = _SCHEMES[parts.scheme]
        port = parts.port or usual
    except (KeyError, ValueError):
        raise ServiceError(f"{redact(url)} is no URL of a RabbitMQ: write amqp://user:password@host:port") from None
    user, password = unquote(parts.username or "guest"), unquote(parts.password or "guest")
    return Api(scheme, parts.hostname or "127.0.0.1", port + _BEYOND, user, password)
