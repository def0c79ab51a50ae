"""The contract's answers, checked: what an adapter must say to each request, in docs/protocol.md's order.

An adapter that answers otherwise is at fault, never the queue; the message names the request, the field and the rule.
"""

from collections.abc import Collection, Mapping
from typing import Any

PROTOCOL = 1

STATES = ("queued", "running", "done", "failed", "absent")

CHOICES: Mapping[str, tuple[str, ...]] = {
    "ownership": ("none", "lease", "lease-and-heartbeat", "age-only", "connection", "session-lock"),
    "beats": ("runtime", "handler", "nobody"),
    "reclaim": ("automatic", "leader", "called", "same-identity", "none"),
    "attempts": ("claim", "failure", "never"),
}
"""What a `describe` may say of the queue, by field."""


class AdapterFault(Exception):
    """The adapter broke the contract: it died, hung, printed rubbish or lied. Never the queue's own failure."""


class Row(dict[str, str | None]):
    """What an `inspect` says of one job; `columns` are those that the adapter gives, None for all that are looked at.

    One that a script looks at and the adapter does not give, though it promised it, is its fault.
    """

    def __init__(self, row: Mapping[str, str | None], columns: Collection[str] | None = None) -> None:
        super().__init__(row)
        self._columns = columns

    @property
    def is_there(self) -> bool:
        """Whether the queue has a record of the job."""
        return self["state"] != "absent"

    def __missing__(self, column: str) -> str | None:
        if not self.is_there or (self._columns is not None and column not in self._columns):
            return None
        raise AdapterFault(f"inspect: the row of {self['id']} has no `{column}`, and this scenario looks at it")


def check_describe(answer: Mapping[str, Any]) -> None:
    """`describe`: who the queue is and what the bench must know to be fair."""
    _fields("describe", answer, {"subject": str, "version": str, "protocol": int, "slack": (int, float), "drain": dict})
    if answer["protocol"] != PROTOCOL:
        raise AdapterFault(f"describe: protocol is {answer['protocol']!r}; this leaseproof speaks protocol {PROTOCOL}")
    for field, choices in CHOICES.items():
        if answer.get(field) not in choices:
            raise AdapterFault(f"describe: {field} is {answer.get(field)!r}; it is one of {', '.join(choices)}")
    for field in ("lease", "reclaim_every"):
        value = answer.get(field)
        if value is not None and not (isinstance(value, (int, float)) and value > 0):
            raise AdapterFault(f"describe: {field} is a number of seconds above 0, or null, not {value!r}")
    if not isinstance(value := answer.get("retry_after", 0), (int, float)) or value < 0:
        raise AdapterFault(f"describe: retry_after is a number of seconds, not {value!r}")
    if not isinstance(value := answer.get("slots", 1), int) or value < 1:
        raise AdapterFault(f"describe: slots is a number of jobs from 1 on, not {value!r}")
    for field in ("children", "deals", "unique_names"):
        if not isinstance(value := answer.get(field, False), bool):
            raise AdapterFault(f"describe: {field} is true or false, not {value!r}")
    for field in ("tells", "options", "columns"):
        value = answer.get(field, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise AdapterFault(f"describe: {field} is a list of strings, not {value!r}")
    for field, without in (("exit_codes", None), ("forced_codes", [])):
        codes = answer["drain"].get(field, without)
        if not isinstance(codes, list) or not all(isinstance(code, int) for code in codes):
            raise AdapterFault(f"describe: drain.{field} is a list of whole numbers")


def check_enqueue(answer: Mapping[str, Any], wanted: int) -> None:
    """`enqueue`: one id for each job, in order, no two alike."""
    ids = _strings("enqueue", answer, "ids")
    if len(ids) != wanted or len(set(ids)) != wanted:
        raise AdapterFault(f"enqueue: {wanted} jobs were given, and {len(set(ids))} different ids came back")


def check_inspect(answer: Mapping[str, Any], ids: list[str]) -> None:
    """`inspect`: a row for each id asked for, in order, with its state in the bench's words."""
    rows = answer.get("rows")
    if not isinstance(rows, list) or [isinstance(row, dict) and row.get("id") for row in rows] != ids:
        raise AdapterFault(f"inspect: rows is a list of objects, one for each of the ids {', '.join(ids)}, in order")
    for row in rows:
        if row.get("state") not in STATES:
            raise AdapterFault(f"inspect: state is {row.get('state')!r}; it is one of {', '.join(STATES)}")
        for column, value in row.items():
            if value is not None and not isinstance(value, str):
                raise AdapterFault(f"inspect: {column} is {value!r}; a row's values are strings, psql's way, or null")


def check_reclaim(answer: Mapping[str, Any]) -> None:
    """`reclaim`: the ids that were given back to the queue; null where nobody can ask for a reclaim."""
    if answer.get("ids", ()) is not None:
        _strings("reclaim", answer, "ids")


def _strings(request: str, answer: Mapping[str, Any], field: str) -> list[str]:
    value = answer.get(field)
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise AdapterFault(f"{request}: {field} is a list of strings, not {value!r}")
    return value


def _fields(request: str, answer: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    for field, kind in fields.items():
        if not isinstance(answer.get(field), kind):
            raise AdapterFault(f"{request}: {field} is missing or of the wrong kind: {answer.get(field)!r}")
