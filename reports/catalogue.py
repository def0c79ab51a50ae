"""The scenarios as a page of Markdown: what each claims, what is done to it, and what is taken out of each twin."""

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = """\
# The scenarios

Made by `leaseproof list --markdown` from the files in `scenarios/`; each is one claim about a queue. L is the lease. A
twin is the queue without the one member that is named, and must fail under the fault with the anomaly that is named.
"""


def page(scenarios: Sequence[Mapping[str, Any]]) -> str:
    """The page. Each scenario is as `leaseproof list --json` has it."""
    parts = [HEAD]
    for scenario in scenarios:
        twins = [
            f"| {t['name']} | `{t['member']}` | `{t['anomaly']}` | {_cell(t['summary'])} |" for t in scenario["twins"]
        ]
        parts.append(
            "\n".join(
                [
                    f"## {scenario['name']}",
                    "",
                    scenario["claim"],
                    "",
                    f"- Fault: {scenario['fault']}.",
                    f"- Sham: {scenario['sham']}.",
                    "",
                    "| twin | without | shows | what it is |",
                    "|---|---|---|---|",
                    *twins,
                    "",
                ]
            )
        )
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
