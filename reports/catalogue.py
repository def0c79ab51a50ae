"""The scenarios in Markdown: what each claims, what is taken out of each twin, and what each needs of a stranger."""

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


def needs(scenarios: Sequence[Mapping[str, Any]]) -> str:
    """What is done to a stranger in each, what it needs of one, and what a fail shows: a table of Markdown."""
    lines = ["| scenario | what is done | needs | a fail shows |", "|---|---|---|---|"]
    for scenario in scenarios:
        needed = [_NEEDS.get(need, f"`{need}`") for need in scenario["needs"]]
        needed += ["a server of its own"] * scenario["private"] + ["libfaketime"] * scenario["clock"]
        shown = dict.fromkeys(f"`{twin['anomaly']}`" for twin in scenario["twins"])
        cells = (scenario["name"], _cell(scenario["fault"]), ", ".join(needed) or "nothing", ", ".join(shown))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_NEEDS = {
    "postgres": "PostgreSQL",
    "server": "a server",
    "slots": "two jobs at a time",
    "backlog": "jobs that wait in the queue",
    "names": "two workers of one name",
}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
