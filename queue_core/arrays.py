"""Arrays as PostgreSQL reads them: a tenth of what the driver needs, which looks at each element on its own."""

from collections.abc import Iterable


def numbers(elements: Iterable[float]) -> str:
    """An array of numbers."""
    return f"{{{','.join(map(str, elements))}}}"


def texts(elements: Iterable[str | None]) -> str:
    """An array of texts, or of what is written as one; None is NULL."""
    return f"{{{','.join(map(_quoted, elements))}}}"


def _quoted(text: str | None) -> str:
    if text is None:
        return "NULL"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
