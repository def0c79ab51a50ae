"""Who goes through the scenarios, in which profiles, and what becomes of those on whom nothing can be run."""

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import discover, services, validate
from bench.cells import cell
from bench.history import Closed
from bench.result import ScenarioResult
from bench.runner import Bench, Settings
from bench.scenario import Arm, Scenario
from bench.services import ServiceError, Services
from bench.subject import Subject, SubjectError
from bench.twins import Difference
from bench.validate import Seat, Stranger, plan, strangers
from tests.bench.test_result import DOUBT, PASS, SCENARIO, SOUND_FAULT, STRANDED, outcome
from tests.fakes.sane import Sane

PROFILES = """
[profiles.default]
about = "As the first page of its documentation has it."
docs = "https://example.org/first"

[profiles.tuned]
about = "As an expert would have it."
docs = "https://example.org/settings"
timeout = 3
"""


def folder(at: Path, more: str = "", name: str = "") -> str:
    """A subject's folder."""
    at.mkdir(parents=True)
    at.joinpath("subject.toml").write_text(
        f'name = "{name or at.name}"\nprotocol = 1\ncontrol = ["c"]\nworker = ["w"]\n{more}'
    )
    return str(at)


def shown(found: Sequence[Stranger]) -> list[str]:
    return [str(stranger) for stranger in found]


def test_each_subject_in_each_of_its_profiles(tmp_path: Path) -> None:
    names = [folder(tmp_path / "two", PROFILES), folder(tmp_path / "one")]
    assert shown(strangers(names, "all")) == ["two default", "two tuned", "one tuned"]
    assert shown(strangers(names, "default")) == ["two default", "one default"]
    assert [stranger.given for stranger in strangers(names, "default")] == names


def test_a_subject_that_is_named_twice_is_run_once(tmp_path: Path) -> None:
    name = folder(tmp_path / "one")
    assert len(strangers([name, name, f"{name}/."], "all")) == 1


def test_all_are_those_beside_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = tmp_path / "subjects"
    for name in ("queue_core", "sidekiq", "celery"):
        folder(shelf / name)
    monkeypatch.setattr(discover, "_shelf", lambda: shelf)
    assert shown(strangers(["all"], "tuned")) == ["celery tuned", "sidekiq tuned"]
    assert shown(strangers(["sidekiq", "all", "queue_core"], "tuned")) == [
        "sidekiq tuned",
        "celery tuned",
        "queue_core tuned",
    ]


def test_one_whose_subject_toml_is_broken_is_among_them_and_says_why(tmp_path: Path) -> None:
    good, bad = folder(tmp_path / "good"), folder(tmp_path / "bad", "sevices = []\n")
    found = strangers([bad, good], "all")
    assert shown(found) == ["bad default", "good tuned"]
    assert found[0].subject is None
    assert "adapter: " in found[0].broken
    assert "unknown key 'sevices'" in found[0].broken


def test_a_name_that_nothing_has(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="there is no subject 'qeue_core'; did you mean 'queue_core'"):
        strangers(["qeue_core"], "all")


def test_two_of_one_name(tmp_path: Path) -> None:
    names = [folder(tmp_path / "here", name="mine"), folder(tmp_path / "there", name="mine")]
    with pytest.raises(SubjectError, match="two of these subjects are called 'mine'"):
        strangers(names, "all")


def test_a_name_leads_out_of_no_folder() -> None:
    assert Stranger("x", "../a b/c", "tuned").folder == Path("..-a-b-c/tuned")


def test_an_environment_is_made_once_and_one_that_cannot_be_is_its_own_trouble(tmp_path: Path) -> None:
    good = folder(tmp_path / "good", f'make = [["{sys.executable}", "-c", "print(1)"]]\n{PROFILES}')
    bad = folder(tmp_path / "bad", f'make = [["{sys.executable}", "-c", "raise SystemExit(1)"]]\n')
    out = io.StringIO()
    found = validate.made_ready(strangers([good, bad], "all"), out)
    assert [stranger.broken.partition(": good")[0] for stranger in found[:2]] == ["", ""]
    assert found[2].broken.startswith("bench: its environment could not be made: ")
    assert out.getvalue().count("good: 1 of 1") == 1
    again = io.StringIO()
    validate.made_ready(strangers([good], "all"), again)
    assert again.getvalue() == ""


def test_the_plan_has_all_arms_of_the_reference_and_the_sound_ones_of_strangers() -> None:
    assert plan([Stranger("x", "x", "tuned")], [SCENARIO]) == [
        ("queue_core made-up", "sound-fault"),
        ("queue_core made-up", "sound-sham"),
        ("queue_core made-up", "NoReclaim-fault"),
        ("queue_core made-up", "NoReclaim-sham"),
        ("x tuned made-up", "sound-fault"),
        ("x tuned made-up", "sound-sham"),
    ]


# A stranger's seat.


class Heard:
    """Watches, and remembers what ended how."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str, str]] = []

    def arm_started(self, scenario: str, arm: str, history: Any) -> None: ...

    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None:
        self.ended.append((scenario, arm, verdict))


SUBJECT = Subject("mine", {}, Path(), profiles={"tuned": {"about": "-", "docs": "-", "timeout": 3}})

ARM = Arm(SCENARIO, None, fault=True)


def seat(run: Any = None, once: Any = None, error: str = "", **settings: Any) -> Seat:
    """A stranger's seat on a bench that does as told."""
    given = Settings(SUBJECT, Path("/nowhere"), **settings)
    bench: Any = SimpleNamespace(settings=given, run=run, once=once)
    return Seat(Stranger("mine", "mine", "tuned", SUBJECT), bench, Heard(), error, {**Sane.describe, "lease": 30.0})


def needing(*needs: str) -> Arm:
    return Arm(Scenario("needy", "-", 1, "-", "-", "-", [], [], needs=needs), None, fault=False)


def never(*_: object) -> None:
    raise AssertionError("something was run")


def test_what_is_not_offered_is_not_even_started() -> None:
    mine = seat(run=never)
    found = mine.run(needing("grace", "hold"))
    assert (found.verdict.verdict, found.verdict.reason) == ("unsupported", "its describe does not offer grace, hold")
    assert (found.history, found.events) == ("", [])
    assert isinstance(mine.watcher, Heard)
    assert mine.watcher.ended == [("needy", "sound-sham", "unsupported")]


def test_a_recovery_that_takes_too_long_is_not_waited_for() -> None:
    found = seat(run=never, longest=40.0).run(ARM)
    assert found.verdict.verdict == "unsupported"
    assert "a recovery takes 45 s by its own word, and this run waits 40 s" in found.verdict.reason


def test_nothing_is_run_on_a_broken_one() -> None:
    found = seat(run=never, error="adapter: it is broken").run(ARM)
    assert (found.verdict.verdict, found.verdict.reason) == ("error", "adapter: it is broken")


def broken(error: BaseException) -> Any:
    def run(*_: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ServiceError("no redis is installed"), "bench: no redis is installed"),
        (KeyError("oops"), "KeyError: 'oops'"),
        (OSError("postgresql://me:S3CRET@h/d"), ":***@"),
    ],
)
def test_what_goes_wrong_with_one_arm_ends_no_other(error: BaseException, words: str) -> None:
    found = seat(run=broken(error)).run(ARM)
    assert found.verdict.verdict == "error"
    assert found.verdict.reason.startswith("bench: ")
    assert words in found.verdict.reason
    assert "S3CRET" not in found.verdict.reason


def test_an_interruption_ends_all() -> None:
    with pytest.raises(Closed):
        seat(run=broken(Closed())).run(ARM)


def test_its_smoke_finds_what_it_cannot_do_at_all() -> None:
    mine = seat(once=broken(ServiceError("no redis is installed")))
    mine.look()
    assert mine.error == "bench: no redis is installed"
    assert mine.run(ARM).verdict.reason == "bench: no redis is installed"


def proof(*verdicts: Any) -> ScenarioResult:
    arms = [outcome(arm, verdict) for arm, verdict in zip(SCENARIO.arms, verdicts, strict=True)]
    return ScenarioResult(SCENARIO, {"NoReclaim": Difference("Queue.reclaim", "")}, arms)


def test_of_what_happened_it_keeps_what_its_cell_is_made_of() -> None:
    whole = outcome(SOUND_FAULT, STRANDED)
    light = seat(run=lambda *_: whole).run(ARM)
    assert len(light.events) < len(whole.events)
    assert light.to_json() == whole.to_json()
    assert cell("made-up", Sane.describe, [light]) == cell("made-up", Sane.describe, [whole])


def test_a_describe_that_is_no_good_is_shown_as_it_is() -> None:
    mine = seat(error="adapter: describe: slack is missing")
    mine.describe = {"slack": "much", "lease": "short"}
    data = mine.to_json({key: mine.run(found.arm) for key, found in OUTCOMES.items()}, [proof(*PROVEN)])
    assert (data["describe"], data["recovery"]) == ({"slack": "much", "lease": "short"}, None)
    assert [each["verdict"] for each in data["cells"]] == ["error"]


PROVEN = (PASS, PASS, STRANDED, PASS)

OUTCOMES = {("made-up", arm.id): outcome(arm, PASS) for arm in SCENARIO.arms[:2]}


def test_a_stranger_as_json() -> None:
    data = seat().to_json(OUTCOMES, [proof(*PROVEN)])
    (found,) = data.pop("cells")
    assert data == {
        "name": "mine",
        "given": "mine",
        "profile": "tuned",
        "settings": {"about": "-", "docs": "-", "timeout": 3},
        "describe": {**Sane.describe, "lease": 30.0},
        "recovery": 45.0,
        "error": "",
        "smoke": "",
    }
    assert (found["scenario"], found["verdict"]) == ("made-up", "pass")
    assert [arm["history"] for arm in found["arms"]] == [
        "mine/tuned/made-up/sound-fault.jsonl",
        "mine/tuned/made-up/sound-sham.jsonl",
    ]


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        ((PASS, PASS, PASS, PASS), "unproven here: NoReclaim-fault: it must show stranded, and it came out as pass"),
        ((PASS, DOUBT, STRANDED, PASS), "inconclusive here: sound-sham: the machine stalled"),
    ],
)
def test_beside_a_scenario_that_is_not_proven_it_shows_nothing(verdicts: Sequence[Any], reason: str) -> None:
    (found,) = seat().to_json(OUTCOMES, [proof(*verdicts)])["cells"]
    assert (found["verdict"], found["reason"], found["arms"]) == ("unproven", reason, [])


# Services.


def test_a_service_that_is_not_there_takes_no_one_else_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    @contextmanager
    def started(wanted: Sequence[str], *_: object) -> Iterator[Services]:
        asked.extend(wanted)
        if "rabbitmq" in wanted:
            raise ServiceError("no rabbitmq is installed: apt install rabbitmq-server")
        member: Any = wanted[0]
        yield Services([member])

    monkeypatch.setattr(services, "started", started)
    names = [
        folder(tmp_path / "plain"),
        folder(tmp_path / "hare", 'services = ["rabbitmq", "redis"]\n'),
        folder(tmp_path / "fast", 'services = ["redis"]\n'),
        folder(tmp_path / "quick", 'services = ["postgres", "redis"]\n'),
    ]
    found = strangers(names, "default")
    anything: Any = SimpleNamespace(path=tmp_path, tell_service=never)
    running = Bench(Settings(SUBJECT, tmp_path), anything, anything, anything, anything, anything, never, {})  # type: ignore[arg-type]
    with ExitStack() as stack:
        seats = list(validate._seats(running, found, running.settings, Heard(), stack))
    up: list[Any] = [seat.bench.services.members for seat in seats]
    assert up == [[], ["redis"], ["redis"], ["redis"]]
    error = "bench: it needs rabbitmq: no rabbitmq is installed: apt install rabbitmq-server"
    assert [seat.error for seat in seats] == ["", error, "", ""]
    assert asked == ["rabbitmq", "redis"]
    mine = [seat.bench.settings for seat in seats]
    assert [each.out.relative_to(tmp_path) for each in mine] == [who.folder for who in found]
    assert [(each.subject, each.profile) for each in mine] == [(who.subject, "default") for who in found]
