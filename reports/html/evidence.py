"""The evidence of a cell: the pictures side by side, and what is told of the arms that are in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from reports.cross import again as cross_again
from reports.events import Event
from reports.findings import repeated
from reports.html.arms import ArmShown, shown
from reports.html.links import followed, slug
from reports.html.pack import packed_history
from reports.html.tables import Cell, Column, arm_key, in_words, scenario_rows, side_of, stranger_cell
from reports.outcome import cells_of, proofs
from reports.subjects import again, why
from reports.svg import Panel, svg

WIDTH = 1200
"""Pixels of a picture: what a wide screen has room for. A narrow one scrolls it."""

Json = Mapping[str, Any]
History = Callable[[Json], Sequence[Event] | None]


@dataclass(frozen=True)
class View:
    """Arms beside one another on one time axis: what is shown at each of the hashes in `keys`."""

    keys: Sequence[str]
    arms: Sequence[str]
    picture: Markup
    twin: Json | None = None


@dataclass(frozen=True)
class Evidence:
    """All that is told in one cell, or in all cells of a scenario."""

    key: str
    scenario: Json
    views: Sequence[View]
    arms: Sequence[ArmShown]
    settings: Sequence[tuple[str, object]]
    stranger: Column | None = None
    cell: Cell | None = None
    reason: str = ""
    known: Json | None = None
    known_link: str = ""
    is_new: bool = False
    reference: str = ""


@dataclass
class Teller:
    """Tells the evidence of a run's cells, and keeps the raw histories that it has come across, packed."""

    result: Json
    history: History
    raw: list[Markup] = field(default_factory=list)

    def scenarios(self) -> Iterator[Evidence]:
        """Of each scenario, by its own arms."""
        for scenario, row in zip(self.result["scenarios"], scenario_rows(self.result), strict=True):
            histories = {arm["id"]: self.history(arm) for arm in scenario["arms"]}
            views = self._views(scenario, histories)
            given = self.result.get("subject") or {}
            yield Evidence(
                key=row.key,
                scenario=scenario,
                views=views,
                arms=[self._arm(arm, histories[arm["id"]], scenario) for arm in scenario["arms"]],
                settings=self._settings(histories.values(), given, {}),
            )

    def strangers(self, columns: Sequence[Column]) -> Iterator[Evidence]:
        """Of each subject in each scenario."""
        scenarios = {scenario["name"]: scenario for scenario in self.result["scenarios"]}
        known, new = cells_of(self.result, "known"), cells_of(self.result, "new")
        for column in columns:
            for cell in column.subject["cells"]:
                scenario = scenarios[cell["scenario"]]
                place = (column.name, column.profile, cell["scenario"])
                yield self._stranger(column, cell, scenario, known.get(place), place in new)

    def _stranger(self, column: Column, cell: Json, scenario: Json, known: Json | None, is_new: bool) -> Evidence:
        histories = {arm["id"]: self.history(arm) for arm in cell["arms"]}
        shown_cell = stranger_cell(column, cell)
        assert shown_cell
        picture = self._picture(cell["arms"], histories, slug(shown_cell.key), of_stranger=True)
        ids = [arm["id"] for arm in cell["arms"]]
        return Evidence(
            key=shown_cell.key,
            scenario=scenario,
            views=[View([shown_cell.key], ids, picture)],
            arms=[self._arm(arm, histories[arm["id"]], scenario, column.subject) for arm in cell["arms"]],
            settings=self._settings(histories.values(), column.subject["describe"], column.subject["settings"]),
            stranger=column,
            cell=shown_cell,
            reason=why(cell) or cell["reason"],
            known=known,
            known_link=followed(known["link"]) if known else "",
            is_new=is_new,
            reference=slug(scenario["name"]),
        )

    def _views(self, scenario: Json, histories: Mapping[str, Sequence[Event] | None]) -> list[View]:
        """The sound queue beside each twin, with the fault and without; where there is no twin, its own two arms."""
        arms = {arm["id"]: arm for arm in scenario["arms"]}
        twins = {twin["name"]: twin for twin in scenario["twins"]}
        names = dict.fromkeys([*twins, *(arm["twin"] for arm in scenario["arms"] if arm["twin"])])
        pairs = [(name, [f"sound-{side}", f"{name}-{side}"]) for name in names for side in ("fault", "sham")] or [
            ("", ["sound-fault", "sound-sham"])
        ]
        views: list[View] = []
        taken: set[str] = set()
        for name, ids in pairs:
            there = [arms[id] for id in ids if id in arms]
            keys = [key for arm in there if (key := arm_key(scenario, arm)) not in taken]
            if keys:
                keys = keys if views else [slug(scenario["name"]), *keys]
                taken.update(keys)
                picture = self._picture(there, histories, slug(keys[-1]))
                views.append(View(keys, [arm["id"] for arm in there], picture, twins.get(name)))
        return views

    def _picture(
        self, arms: Sequence[Json], histories: Mapping[str, Sequence[Event] | None], id: str, of_stranger: bool = False
    ) -> Markup:
        panels = [
            Panel(history, f"{side_of(arm, of_stranger)}: {in_words(arm)}", proofs(arm))
            for arm in arms
            if (history := histories[arm["id"]])
        ]
        return Markup(svg(panels, width=WIDTH, standalone=False, id=id)) if panels else Markup()

    def _arm(self, arm: Json, history: Sequence[Event] | None, scenario: Json, subject: Json | None = None) -> ArmShown:
        if subject is not None:
            command = again(self.result, subject, scenario["name"], arm["id"])
        elif arm["twin"] and arm["twin"] not in [twin["name"] for twin in scenario["twins"]]:
            command = cross_again(self.result["scenarios"], scenario, arm)
        else:
            command = repeated(self.result)(scenario, arm)
        return shown(arm, history, scenario["explanations"], command, self._pack(history), bool(subject))

    def _pack(self, history: Sequence[Event] | None) -> tuple[int | None, str]:
        packed = packed_history(history) if history else Markup()
        if not packed:
            return None, ""
        self.raw.append(packed)
        return len(self.raw) - 1, f"{max(len(packed) * 3 // 4 // 1000, 1)} kB"

    def _settings(
        self, histories: Iterable[Sequence[Event] | None], describe: Json, profile: Json
    ) -> list[tuple[str, object]]:
        """Versions and settings, a line each: the versions are those that the histories have, else the run's."""
        header = next((history[0] for history in histories if history), {})
        versions = header.get("versions")
        told = [*(versions if isinstance(versions, Mapping) else self.result["environment"]).items()]
        told += [(key, value) for key, value in profile.items() if key not in ("about", "docs")]
        return told + [(key, value) for key, value in describe.items() if key != "subject"]
