"""The one-variable rule: a twin overrides exactly one member of the subject's own code, and really changes it."""

import difflib
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from bench.scenario import Twin

_NOT_MEMBERS = frozenset(
    [
        "__module__",
        "__qualname__",
        "__doc__",
        "__annotations__",
        "__annotate__",
        "__annotations_cache__",
        "__dict__",
        "__weakref__",
        "__static_attributes__",
        "__firstlineno__",
        "__parameters__",
        "__orig_bases__",
        "__type_params__",
        "__abstractmethods__",
        "_abc_impl",
    ]
)
"""What Python itself puts into a class's namespace."""


class TwinError(Exception):
    """A twin that is not one: says in what it differs, and what the rule is."""


@dataclass(frozen=True)
class Difference:
    """The one member in which a twin differs: `Class.member`, and the unified diff from the sound one to the twin's."""

    member: str
    diff: str


def difference(twin: Twin) -> Difference:
    """Check the one-variable rule and return the difference. Raises TwinError where the rule is broken."""
    subject = twin.subject
    if len(subject.__bases__) != 1 or subject.__bases__[0] is object:
        raise TwinError(f"twin {twin.name} must be a subclass of exactly one class of the subject")
    sound = subject.__bases__[0]
    if sound.__module__ == subject.__module__:
        raise TwinError(f"twin {twin.name} must subclass the subject's own class, not {sound.__name__} beside it")
    members = sorted(set(vars(subject)) - _NOT_MEMBERS)
    if len(members) != 1:
        found = ", ".join(members) or "nothing"
        raise TwinError(f"twin {twin.name} must override exactly one member of {sound.__name__}; it has: {found}")
    (name,) = members
    missing = object()
    original = inspect.getattr_static(sound, name, missing)
    if original is missing:
        raise TwinError(f"twin {twin.name} adds {name}, which {sound.__name__} does not have: nothing is taken out")
    changed = vars(subject)[name]
    if type(original) is not type(changed):
        raise TwinError(f"twin {twin.name} turns {name} from {type(original).__name__} into {type(changed).__name__}")
    if _essence(original) == _essence(changed):
        raise TwinError(f"twin {twin.name} overrides {name} with the same thing: it is equal to the sound one")
    return Difference(f"{sound.__name__}.{name}", _diff(_text(name, original), _text(name, changed)))


def _essence(member: Any) -> Any:
    """What a member does, whatever it is called and wherever it stands."""
    if isinstance(member, property):
        return tuple(_essence(part) for part in (member.fget, member.fset, member.fdel))
    if isinstance(member, (staticmethod, classmethod)):
        return _essence(member.__func__)
    if isinstance(member, str):
        return member.split()
    code = getattr(member, "__code__", None)
    if code is None:
        return member
    constants = tuple(value for value in code.co_consts if value != getattr(member, "__doc__", None))
    return code.co_code, constants, code.co_names, code.co_varnames, member.__defaults__


def _text(name: str, member: Any) -> list[str]:
    """A member as the lines that a reader would compare."""
    if isinstance(member, str):
        return textwrap.dedent(member).strip().splitlines()
    function: Any = member.fget if isinstance(member, property) else member
    try:
        return textwrap.dedent(inspect.getsource(function)).strip().splitlines()
    except (OSError, TypeError):
        return [f"{name} = {member!r}"]


def _diff(sound: list[str], twin: list[str]) -> str:
    lines = list(difflib.unified_diff(sound, twin, lineterm="", n=2))
    return "\n".join(lines[2:])  # without the two lines that would name files
