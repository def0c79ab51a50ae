"""The GitHub action and the workflow as GitHub reads them; the action's steps are run against a stand-in."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import cli

ROOT = Path(__file__).parents[2]

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
OURS = [*STEPS, *(step for job in WORKFLOW["jobs"].values() for step in job["steps"])]


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for it in value:
            yield from texts(it)
    elif isinstance(value, str):
        yield value


def expressions(value: Any) -> list[str]:
    return [found for text in texts(value) for found in re.findall(r"\$\{\{(.*?)\}\}", text)]


def step(name: str) -> dict[str, Any]:
    (found,) = [step for step in STEPS if step["name"] == name]
    return found


def test_each_input_that_is_used_is_declared_and_each_that_is_declared_is_used() -> None:
    used = {name for text in expressions(STEPS) for name in re.findall(r"inputs\.([\w-]+)", text)}
    assert used == set(ACTION["inputs"])


def test_each_input_is_described_and_has_a_default_or_is_required() -> None:
    for name, given in ACTION["inputs"].items():
        assert given["description"], name
        assert ("default" in given) != given.get("required", False), name


def test_each_output_is_one_that_a_step_writes() -> None:
    written = set(re.findall(r'echo "([\w-]+)=', step("Validate")["run"]))
    named = {
        name: re.fullmatch(r"\$\{\{ steps\.validate\.outputs\.([\w-]+) \}\}", it["value"])
        for name, it in ACTION["outputs"].items()
    }
    assert {found[1] for found in named.values() if found} == written == set(named)
    assert {name for text in expressions(STEPS) for name in re.findall(r"steps\.(\w+)", text)} <= {
        step["id"] for step in STEPS if "id" in step
    }


@pytest.mark.parametrize("given", OURS, ids=lambda it: str(it.get("name", it.get("uses"))))
def test_nothing_is_put_into_the_text_of_a_script(given: dict[str, Any]) -> None:
    assert "${{" not in given.get("run", "")
    if "run" in given and given in STEPS:
        assert given["shell"] == "bash"


@pytest.mark.parametrize("given", OURS, ids=lambda it: str(it.get("name", it.get("uses"))))
def test_each_action_of_others_is_of_a_major_version(given: dict[str, Any]) -> None:
    assert re.fullmatch(r"actions/[\w-]+@v\d+", given.get("uses", "actions/none@v1"))


def test_each_variable_of_a_script_is_set_for_it() -> None:
    github = {"RUNNER_TEMP", "GITHUB_OUTPUT", "PATH"}
    for given in OURS:
        used = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", given.get("run", "")))
        assert used <= {*given.get("env", {}), *github}, given


def test_the_workflow_may_read_and_no_more_and_ends() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert WORKFLOW["concurrency"]["group"]
    for job in WORKFLOW["jobs"].values():
        assert job["timeout-minutes"] <= 360
        assert "permissions" not in job


def test_the_workflow_runs_on_each_version_of_postgresql() -> None:
    (job,) = WORKFLOW["jobs"].values()
    assert [it["postgres"] for it in job["strategy"]["matrix"]["include"]] == ["14", "15", "16", "17", "18"]
    assert any(".ci/run" in given.get("run", "") for given in job["steps"])
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


EXAMPLES = [
    yaml.safe_load(text)
    for text in re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "reports.md").read_text(encoding="utf-8"), re.DOTALL)
]


def test_the_examples_are_workflows_that_name_what_there_is() -> None:
    steps = [given for example in EXAMPLES for job in example["jobs"].values() for given in job["steps"]]
    ours = [given for given in steps if "leaseproof@" in given.get("uses", "")]
    assert ours
    for given in ours:
        assert set(given["with"]) <= set(ACTION["inputs"])
    for given in steps:
        assert "${{" not in given.get("run", "")
    theirs = {given["uses"] for given in [*OURS, *steps] if given.get("uses", "").startswith("actions/")}
    assert len({name.partition("@")[0] for name in theirs}) == len(theirs), "one version of each action"


# The step that validates, with a stand-in that says what it was given.

STAND_IN = """\
#!/bin/sh
printf '%s\\n' "$LEASEPROOF_POSTGRES" "$@" >"$RUNNER_TEMP/said"
while [ "$1" != --out ]; do shift; done
touch "$2/junit.xml"
exit "${EXIT:-0}"
"""


def validated(tmp_path: Path, **inputs: str) -> tuple[int, list[str], dict[str, str]]:
    """The exit code of the step, what the command was given, and the outputs."""
    program = tmp_path / "leaseproof" / "bin" / "leaseproof"
    program.parent.mkdir(parents=True)
    program.write_text(STAND_IN)
    program.chmod(0o755)
    given = {name: it.get("default", "") for name, it in ACTION["inputs"].items()} | inputs
    env = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value)
        for name, value in step("Validate")["env"].items()
    }
    place = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output"), "PATH": os.environ["PATH"]}
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("Validate")["run"]]
    done = subprocess.run(bash, env={**place, **env, "EXIT": inputs.get("EXIT", "0")}, cwd=tmp_path, check=False)
    output = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    return done.returncode, (tmp_path / "said").read_text().splitlines(), output


def test_the_least_that_it_is_given(tmp_path: Path) -> None:
    code, said, output = validated(tmp_path, subject="my-queue")
    folder = output["folder"]
    assert Path(folder).parent == tmp_path
    assert said == [
        "auto",
        "validate",
        "--profile",
        "all",
        "--plain",
        "--out",
        folder,
        "--html",
        "--junit",
        "--",
        "my-queue",
    ]
    assert code == 0
    assert output == {"exit-code": "0", "folder": folder, "junit": f"{folder}/junit.xml"}


def test_all_that_it_may_be_given(tmp_path: Path) -> None:
    given = {
        "subject": "a ./b\n",
        "expect": "my known.toml",
        "profile": "tuned",
        "scenarios": "heartbeat\n  worker-death",
        "postgres": "postgresql://u:p@h/d",
        "args": "--longest 120",
        "EXIT": "1",
    }
    code, said, output = validated(tmp_path, **given)
    assert said[:7] == [
        "postgresql://u:p@h/d",
        "validate",
        "--profile",
        "tuned",
        "--scenario=heartbeat",
        "--scenario=worker-death",
        "--expect=my known.toml",
    ]
    assert said[7:9] == ["--longest", "120"]
    assert said[-3:] == ["--", "a", "./b"]
    assert (code, output["exit-code"]) == (1, "1")


def test_an_input_is_no_command(tmp_path: Path) -> None:
    hostile = "$(touch pwned) `touch pwned` '; touch pwned; # \" * --html"
    _, said, _ = validated(tmp_path, **dict.fromkeys(("subject", "expect", "profile", "scenarios", "args"), hostile))
    assert not (tmp_path / "pwned").exists()
    assert f"--expect={hostile}" in said
    assert "*" in said
    assert said.index("--") < said.index("*", said.index("--"))


def test_the_command_takes_what_the_step_gives_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, said, _ = validated(tmp_path, subject="queue_core", scenarios="heartbeat", args="--dry-run")
    assert cli.main(said[1:]) == 0
    assert "in: heartbeat" in capsys.readouterr().out
