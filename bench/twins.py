"""The one-variable rule: a twin overrides exactly one member of the subject's own code, and really changes it."""

import ast
import difflib
import inspect
import textwrap
from dataclasses import dataclass
from functools import cached_property
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
    if sound.__module__.partition(".")[0] == subject.__module__.partition(".")[0]:
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
    diff = _diff(_text(name, original), _text(name, changed))
    if _essence(original) == _essence(changed) or not diff:
        raise TwinError(f"twin {twin.name} overrides {name} with the same thing: it is equal to the sound one")
    return Difference(f"{sound.__name__}.{name}", diff)


def _parts(member: Any) -> list[Any]:
    """The functions that a member is made of; the member itself when it is none."""
    if isinstance(member, property):
        return [part for part in (member.fget, member.fset, member.fdel) if part]
    if isinstance(member, cached_property):
        return [member.func]
    part = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
    if hasattr(part, "__wrapped__"):
        return [part]  # inspect finds the function within
    cells = (cell.cell_contents for cell in getattr(part, "__closure__", None) or ())
    return [part, *(cell for cell in cells if inspect.isfunction(cell))]


def _source(part: Any) -> str | None:
    """The source of a function, indented as it stands; None for anything else."""
    try:
        return inspect.getsource(part)
    except (OSError, TypeError):
        return None


def _essence(member: Any) -> list[Any]:
    """What a member does, whatever its layout, its docstrings and its annotations."""
    if isinstance(member, str):
        return member.split()
    decorated = not isinstance(member, (property, cached_property))
    return [_meaning(part, decorated) for part in _parts(member)]


def _meaning(part: Any, decorated: bool) -> Any:
    """A function's syntax tree, without what does nothing."""
    source = _source(part)
    if source is None:
        return _code(part)
    try:
        # Under an `if`, for a method stands indented, and a string in it may begin at the left.
        tree = ast.parse(f"if True:\n{source}" if source[0].isspace() else source)
    except SyntaxError:  # a part of a statement, such as a lambda on a line of its own
        return _code(part)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            if not decorated:
                node.decorator_list = []
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)


def _code(part: Any) -> Any:
    """What a function whose source is gone does; anything else is what it is."""
    code = getattr(part, "__code__", None)
    if code is None:
        return part
    constants = [value for value in code.co_consts if value != part.__doc__]
    return code.co_code, constants, code.co_names, code.co_varnames, part.__defaults__, part.__kwdefaults__


def _text(name: str, member: Any) -> list[str]:
    """A member as the lines that a reader would compare."""
    if isinstance(member, str):
        return textwrap.dedent(member).strip().splitlines()
    texts = (textwrap.dedent(_source(part) or f"{name} = {part!r}") for part in _parts(member))
    return [line for text in texts for line in text.strip().splitlines()]


def _diff(sound: list[str], twin: list[str]) -> str:
    lines = list(difflib.unified_diff(sound, twin, lineterm="", n=2))
    return "\n".join(lines[2:])  # without the two lines that would name files
