"""Toy queues, one for each language of `leaseproof init`, which fill in the three places: in a file, or in a folder."""

import re
from pathlib import Path

from bench.init import LANGUAGES, MARK

_IMPORTS = "".join(f'\t"{name}"\n' for name in ("fmt", "os/signal", "path/filepath", "strconv", "syscall", "time"))


def fill(language: str, folder: Path, places: int = 3) -> None:
    """Fill in the first places of an adapter, each instead of the line after its mark."""
    adapter = folder / LANGUAGES[language][0]
    text = adapter.read_text(encoding="utf-8")
    toy = (Path(__file__).parent / f"toy.{language}").read_text(encoding="utf-8")
    for part in re.split(r"^--- \d of 3\n", toy, flags=re.MULTILINE)[1 : places + 1]:
        before, after = re.split(rf"^.*{MARK}.*\n.*\n", text, maxsplit=1, flags=re.MULTILINE)
        text = before + part + after
    if language == "go":
        text = text.replace("import (\n", f"import (\n{_IMPORTS}", 1)
    adapter.write_text(text, encoding="utf-8")
