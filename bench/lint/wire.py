"""What may go over the wire between the bench and an adapter: each message against its schema, and who may say what."""

import difflib
import json
import threading
import time
from collections.abc import Mapping
from typing import IO, Any

from bench import schemas
from bench.lint.findings import Blame, Findings


class Wire:
    """The ears of a wiretap: they check all that goes by, and write it down into `transcript`, a line a message."""

    def __init__(self, findings: Findings, transcript: IO[str]) -> None:
        self.findings = findings
        self.heard = 0
        """How many messages went by, in either direction."""
        self.open: set[str] = set()
        """The workers whose own line is open."""
        self.token = ""
        self._transcript = transcript
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._controls = 0

    def launched(self, command: str, env: Mapping[str, str]) -> None:
        """The options of a worker are a message of the bench's, too."""
        if command != "control":
            self.token = env["LEASEPROOF_TOKEN"]
            where = f"{command} {env['LEASEPROOF_WORKER']}"
            self.message(where, "bench", env["LEASEPROOF_OPTIONS"].encode())
            self.check(f"options.{command}", json.loads(env["LEASEPROOF_OPTIONS"]), where, "bench")

    def control(self) -> "ControlEar":
        self._controls += 1
        return ControlEar(self, f"control {self._controls}")

    def witness(self) -> "WitnessEar":
        return WitnessEar(self)

    def message(self, line: str, sender: str, raw: bytes) -> None:
        """Write one message down."""
        text = raw.decode(errors="replace").rstrip("\n")
        with self._lock:
            self.heard += 1
            about = {"t": round(time.monotonic() - self._began, 6), "line": line, "from": sender, "text": text}
            self._transcript.write(json.dumps(about, ensure_ascii=False) + "\n")

    def check(self, schema: str, message: object, where: str, blame: Blame = "adapter") -> None:
        """Hold a message against its schema."""
        for each in schemas.violations(schema, message):
            self.findings.add(where, each.what, each.rule, each.cure, blame)


class ControlEar:
    """Hears a control process: each request has one answer, and nothing else is on stdout."""

    def __init__(self, wire: Wire, name: str) -> None:
        self._wire = wire
        self._name = name
        self._asked: dict[int, str] = {}

    def from_bench(self, line: bytes) -> None:
        self._wire.message(self._name, "bench", line)
        message = json.loads(line)
        name = message["request"]
        self._asked[message["id"]] = name
        self._wire.check(f"{name}.request", message, f"control, the request `{name}`", "bench")

    def from_subject(self, line: bytes) -> None:
        self._wire.message(self._name, "subject", line)
        message = _parsed(line)
        if message is None:
            self._wire.findings.add(
                "control, stdout",
                f"printed {_short(line)}",
                "Stdout is for answers: one JSON object a line. Stderr is the log.",
                "print to stderr, and have the libraries that print do so, too; the kit's control loop sees to it",
            )
            return
        id = message.get("id")
        name = self._asked.pop(id, "") if isinstance(id, int) else ""
        if not name:
            self._wire.findings.add(
                "control",
                f"answered {_short(line)}, and no request with the id {json.dumps(id)} waits for an answer",
                "Every request has an `id`, and its one answer has the same.",
                "send the `id` of the request back with its answer, once",
            )
            return
        schema = "error" if "error" in message else f"{name}.answer"
        self._wire.check(schema, message, f"control, the answer to `{name}`")

    def hung_up(self) -> None:
        """Its end is the bench's business."""


class WitnessEar:
    """Hears one connection to the witness: a worker's own line, or a puppet."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._where = "a connection to the witness"
        self._kind = ""
        self._worker = ""

    def from_subject(self, line: bytes) -> None:
        message = _parsed(line)
        if message is not None and not self._kind:
            self._begin(message)
        self._wire.message(self._where, "subject", line)
        if message is None:
            rule = "One JSON object a line."
            self._wire.findings.add(self._where, f"sent {_short(line)}", rule, "let the kit speak to the witness")
            return
        event = message.get("event")
        schema = f"{self._kind}.{event}"
        known = _events(self._kind)
        if event in known:
            who = {"worker": "a worker's own line", "puppet": "a puppet"}.get(self._kind, self._where)
            self._wire.check(schema, message, f"{who}, `{event}`")
        else:
            self._wire.findings.add(
                self._where,
                f"sent {_short(line)}",
                f"Its events are {', '.join(known)}.",
                f"leave it out{_nearest(event, known)}",
            )

    def _begin(self, hello: Mapping[str, Any]) -> None:
        """Who it is, by its first message."""
        self._worker = str(hello.get("worker"))
        if hello.get("event") == "ready":
            self._kind, self._where = "worker", f"the line of worker {self._worker}"
            self._wire.open.add(self._worker)
        elif hello.get("event") == "started":
            self._kind, self._where = "puppet", f"the puppet of {hello.get('job')}"
        else:
            return
        if hello.get("token") != self._wire.token:
            self._wire.findings.add(
                f"{self._where}, `{hello['event']}`",
                f"its token is {json.dumps(hello.get('token'))}",
                "The first message has the `token` of LEASEPROOF_TOKEN; who has another is hung up on.",
                "leave LEASEPROOF_TOKEN in the environment of the worker and of its children",
            )

    def from_bench(self, line: bytes) -> None:
        self._wire.message(self._where, "bench", line)
        order = json.loads(line)
        where = f"{self._where}, the order `{order['order']}`"
        self._wire.check(f"order.{order['order']}", order, where, "bench")

    def hung_up(self) -> None:
        if self._kind == "worker":
            self._wire.open.discard(self._worker)


def _events(kind: str) -> list[str]:
    """What a worker's line or a puppet may say; before it is known who speaks, how both begin."""
    if not kind:
        return ["ready", "started"]
    return [name.partition(".")[2] for name in schemas.names() if name.startswith(f"{kind}.")]


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a whole line; None where there is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and line.endswith(b"\n") else None


def _short(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip("\n")
    return repr(text if len(text) <= 120 else f"{text[:117]}...")


def _nearest(event: object, known: list[str]) -> str:
    near = difflib.get_close_matches(str(event), known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
