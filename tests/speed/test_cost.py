"""What a job costs: the form of the result, and what a drain must have cost at the least."""

import json
import subprocess
import sys

import psutil

from bench.speed import cost
from bench.speed.figures import AGAIN, Sample, Table
from bench.speed.ground import Ground

JOBS = 300


def test_a_drain_has_all_its_costs(tiny: Ground) -> None:
    figures = cost.drain(tiny, JOBS, batch=100)
    assert set(cost.COSTS) <= set(figures)
    assert all(figures[each] > 0 for each in cost.COSTS)
    assert figures["WAL"] > 100, "a claim and a completion write the row anew, each"
    if sys.platform == "linux":
        assert 1 << 20 < figures["before"] < 1 << 30


def test_a_claim_and_a_completion_return_each_job_once(tiny: Ground) -> None:
    table = cost.statements(tiny, JOBS, batch=100)
    updates = [row for row in table.rows if str(row[0]).startswith("UPDATE jobs")]
    assert [row[2] for row in updates] == [JOBS, JOBS]


def test_the_result_holds_the_sizes_of_claims_against_the_largest() -> None:
    names = [*map(cost.name, cost.BATCHES), cost.name(cost.BATCHES[-1]) + AGAIN]
    costs = dict(zip(names, (8.0, 2.0, 1.0, 1.05), strict=True))
    samples = [
        Sample(name, number, {**dict.fromkeys(cost.COSTS, of), "before": 1.0, "tenth": 1.0, "after": 91.0})
        for number in range(2)
        for name, of in costs.items()
    ]
    result = cost.result(100, samples, Table("", (), ()), {})
    table, compared, memory, _ = result.tables
    assert [row[:2] for row in table.rows] == [[name, costs[name]] for name in names[:-1]]
    assert [row[2] for row in compared.rows] == [8.0, 2.0] * len(cost.COSTS)
    assert {row[-1] for row in compared.rows} == {"more"}
    assert [row[-1] for row in memory.rows] == [1.0] * len(cost.BATCHES)
    assert json.loads(json.dumps(result.raw))["jobs"] == 100


def test_where_the_system_says_nothing_of_memory_its_table_is_empty() -> None:
    names = [*map(cost.name, cost.BATCHES), cost.name(cost.BATCHES[-1]) + AGAIN]
    samples = [Sample(name, 0, dict.fromkeys(cost.COSTS, 1.0)) for name in names]
    memory = cost.result(100, samples, Table("", (), ()), {}).tables[2]
    assert {cell for row in memory.rows for cell in row[1:]} == {None}


def test_the_cpu_of_children_that_have_ended_counts_and_that_of_the_onlooker_does_not() -> None:
    program = """if True:
        import subprocess, sys
        burn = "import time\\nwhile time.process_time() < 0.2: pass"
        subprocess.run([sys.executable, "-c", burn])
        child = subprocess.Popen([sys.executable, "-c", burn + "\\nprint(flush=True)\\ninput()"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        print(child.pid, flush=True)
        input()
        child.kill()
    """
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin
        assert parent.stdout
        child = int(parent.stdout.readline())
        both, without = cost.cpu_seconds(parent.pid, but=0), cost.cpu_seconds(parent.pid, but=child)
        alive = psutil.pid_exists(child)
        parent.stdin.write(b"\n")
        parent.stdin.flush()
    assert alive
    assert both >= 0.4 - 0.02  # by the clock's ticks
    assert 0.2 - 0.02 <= without <= both - 0.2 + 0.02
