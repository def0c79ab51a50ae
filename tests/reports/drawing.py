"""Rendering to a string."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def drawn(what: RenderableType, width: int, *, styled: bool = False) -> str:
    """The text as a pipe would get it, or with its styles. Too long a line is not hidden: it wraps at 400."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=max(width, 400),
        force_terminal=styled,
        color_system="standard" if styled else None,
        markup=False,
        highlight=False,
        emoji=False,
        no_color=False,
        _environ={},
    )
    console.print(what)
    return stream.getvalue()
