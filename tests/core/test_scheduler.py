"""Schedules, and schedulers that die, stop, pause and meet: each tick is fired, and fired once."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from typing import Any, ClassVar, LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import scalar_row

from queue_core import DRAINED, Queue, Schedule, Scheduler
from queue_core.scheduler import LONGEST_CATCH_UP
from tests.core.helpers import DEADLINE, eventually, row

EVERY = 0.1
"""Seconds between the ticks of OFTEN; the schedule of tests.core.example_schedules is the same."""
OFTEN = Schedule("often", "quick", every=EVERY)
NOON = datetime(2026, 10, 3, 12, tzinfo=UTC)

_numbers = count(1)


class NoKey(Scheduler):
    TICK_KEY: ClassVar[LiteralString] = ""


class AlwaysLeads(Scheduler):
    def lead(self) -> bool:
        return True


class BreaksOff(Queue):
    def enqueue_many(self, jobs: Any) -> list[int]:
        raise RuntimeError("no job today")


@pytest.fixture
def installed(queue: Queue) -> Queue:
    Scheduler.install(queue.connection)
    return queue


def at(hour: int, minute: int = 0, second: float = 0, day: int = 3) -> datetime:
    return datetime(2026, 10, day, hour, minute, tzinfo=UTC) + timedelta(seconds=second)


def make(dsn: str, twin: type[Scheduler] = Scheduler, **options: Any) -> Scheduler:
    settings: dict[str, Any] = {"name": f"scheduler-{next(_numbers)}", "poll": 0.02}
    return twin(dsn, [OFTEN], **(settings | options))


@contextmanager
def closing(*schedulers: Scheduler) -> Iterator[None]:
    """End schedulers that never ran: they have sessions."""
    try:
        yield
    finally:
        for scheduler in schedulers:
            scheduler.stop()
            scheduler.run()


@contextmanager
def running(scheduler: Scheduler) -> Iterator[None]:
    """Run a scheduler on a thread meanwhile."""
    codes = list[int]()
    thread = threading.Thread(target=lambda: codes.append(scheduler.run()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        scheduler.stop()
        thread.join(DEADLINE)
    assert codes == [DRAINED]


@contextmanager
def process(dsn: str, patience: float = 30.0) -> Iterator["Process"]:
    """Run a scheduler in a process of its own meanwhile."""
    scheduler = Process(dsn, patience)
    try:
        yield scheduler
    finally:
        scheduler.popen.kill()
        scheduler.popen.wait()


class Process:
    """`python -m queue_core scheduler`."""

    def __init__(self, dsn: str, patience: float) -> None:
        self.name = f"scheduler-{next(_numbers)}"
        command = [sys.executable, "-m", "queue_core", "scheduler", "--schedules", "tests.core.example_schedules"]
        options = ["--name", self.name, "--poll", "0.02", "--patience", str(patience), "--dsn", dsn]
        self.popen = subprocess.Popen([*command, *options])

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.popen.pid, number)


def ask(queue: Queue, sql: LiteralString, *params: Any) -> list[Any]:
    with queue.connection.cursor(row_factory=scalar_row) as cursor:
        return list(cursor.execute(sql, params))


def now(queue: Queue) -> datetime:
    (moment,) = ask(queue, "SELECT clock_timestamp()")
    assert isinstance(moment, datetime)
    return moment


def ticks(queue: Queue) -> list[datetime]:
    return ask(queue, "SELECT tick FROM ticks ORDER BY tick")


def leads(queue: Queue, scheduler: Scheduler | Process) -> bool:
    """Whether a scheduler holds the lock of the leader."""
    sql: LiteralString = """
        SELECT pid FROM pg_stat_activity JOIN pg_locks USING (pid)
        WHERE application_name = %s AND locktype = 'advisory' AND granted
    """
    return bool(ask(queue, sql, f"{scheduler.name} scheduler"))


def stands_by(queue: Queue, scheduler: Scheduler | Process) -> bool:
    """Whether a scheduler has asked for the lock of the leader, and was refused."""
    sql: LiteralString = """
        SELECT pid FROM pg_stat_activity
        WHERE application_name = %s AND state = 'idle' AND query LIKE '%%pg_try_advisory_lock%%'
    """
    return bool(ask(queue, sql, f"{scheduler.name} scheduler")) and not leads(queue, scheduler)


def until_more(queue: Queue, many: int = 3) -> None:
    """Wait until so many more ticks were fired."""
    before = len(ticks(queue))
    eventually(lambda: len(ticks(queue)) >= before + many, f"{many} more ticks")


def each_once(queue: Queue) -> None:
    """From the first to the last, every tick is there once, with a job of its own, and there are no other jobs."""
    fired = ticks(queue)
    assert fired == [fired[0] + n * timedelta(seconds=EVERY) for n in range(len(fired))]
    jobs = ask(queue, "SELECT job FROM ticks ORDER BY job")
    assert jobs == ask(queue, "SELECT id FROM jobs ORDER BY id")
    assert len(set(jobs)) == len(fired)


class TestSchedule:
    def test_multiples_since_the_epoch(self) -> None:
        schedule = Schedule("s", "x", every=90)
        assert list(schedule.ticks(at(12, 0, 1), at(12, 6))) == [at(12, 1, 30), at(12, 3), at(12, 4, 30), at(12, 6)]

    def test_later_than_the_one_and_up_to_the_other(self) -> None:
        for schedule in (Schedule("s", "x", every=60), Schedule("s", "x", cron="* * * * *")):
            assert list(schedule.ticks(at(12, 0), at(12, 2))) == [at(12, 1), at(12, 2)]
            assert list(schedule.ticks(at(12, 2), at(12, 2))) == []
            assert list(schedule.ticks(at(12, 2), at(12, 1))) == []
            assert list(schedule.ticks(at(12, 0, 0.000001), at(12, 1, 59.999999))) == [at(12, 1)]

    @pytest.mark.parametrize("every", [0.001, 0.1, 1 / 3, 7.77])
    def test_all_agree_wherever_they_begin(self, every: float) -> None:
        schedule = Schedule("s", "x", every=every)
        end = NOON + timedelta(seconds=20 * every)
        all_of_them = list(schedule.ticks(NOON, end))
        assert 19 <= len(all_of_them) <= 21
        for n, tick in enumerate(all_of_them):
            assert list(schedule.ticks(tick, end)) == all_of_them[n + 1 :]

    def test_cron_in_utc(self) -> None:
        schedule = Schedule("s", "x", cron="30 3 * * MON-FRI")
        noon = NOON.astimezone(timezone(timedelta(hours=5)))  # a Saturday
        assert list(schedule.ticks(noon, at(4, day=6))) == [at(3, 30, day=5), at(3, 30, day=6)]

    def test_longer_than_time_itself(self) -> None:
        assert list(Schedule("s", "x", every=1e12).ticks(NOON, NOON + timedelta(days=9))) == []

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "either every or cron"),
            ({"every": 1, "cron": "* * * * *"}, "either every or cron"),
            ({"every": 0}, "every >= 0.001"),
            ({"every": -1}, "every >= 0.001"),
            ({"every": float("inf")}, "every >= 0.001"),
            ({"every": float("nan")}, "every >= 0.001"),
            ({"cron": "* * *"}, "can't be read"),
            ({"cron": "61 * * * *"}, "can't be read"),
            ({"cron": "0 0 31 2,4 *"}, "can't be read"),
            ({"cron": "0 0 */29 2 MON#5"}, "never comes due"),
        ],
    )
    def test_nonsense(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Schedule("s", "x", **options)

    def test_rare(self) -> None:
        (tick,) = Schedule("s", "x", cron="0 0 29 2 *").ticks(NOON, NOON + timedelta(days=600))
        assert tick == datetime(2028, 2, 29, tzinfo=UTC)


class TestFire:
    def test_puts_in_what_the_schedule_says(self, dsn: str, installed: Queue) -> None:
        schedule = Schedule("s", "report", payload={"of": "all"}, every=60, queue="slow", priority=2, max_attempts=5)
        scheduler = make(dsn)
        with closing(scheduler):
            assert scheduler.fire(schedule, NOON)
        (id,) = ask(installed, "SELECT job FROM ticks WHERE schedule = 's' AND tick = %s", NOON)
        job = row(installed, id)
        assert (job["kind"], job["payload"], job["queue"]) == ("report", {"of": "all"}, "slow")
        assert (job["priority"], job["max_attempts"], job["state"]) == (2, 5, "queued")

    def test_without_a_payload_it_is_the_tick(self, dsn: str, installed: Queue) -> None:
        scheduler = make(dsn)
        with closing(scheduler):
            scheduler.fire(OFTEN, NOON)
        assert row(installed, 1)["payload"] == {"schedule": "often", "tick": "2026-10-03T12:00:00+00:00"}

    def test_once(self, dsn: str, installed: Queue) -> None:
        one, two = make(dsn), make(dsn)
        with closing(one, two):
            assert [one.fire(OFTEN, NOON), two.fire(OFTEN, NOON), one.fire(OFTEN, NOON)] == [True, False, False]
            assert two.fire(Schedule("other", "quick", every=EVERY), NOON)
            assert two.fire(OFTEN, at(12, 1))
        assert installed.stats().depth == 3

    @pytest.mark.parametrize("commits", [True, False])
    def test_who_comes_second_waits_for_the_first(self, dsn: str, installed: Queue, commits: bool) -> None:
        scheduler, fired = make(dsn), list[bool]()
        with closing(scheduler), psycopg.connect(dsn) as other:
            other.execute("INSERT INTO ticks (schedule, tick) VALUES ('often', %s)", [NOON])
            thread = threading.Thread(target=lambda: fired.append(scheduler.fire(OFTEN, NOON)), daemon=True)
            thread.start()
            eventually(lambda: held_up(installed, scheduler), "the second waits")
            if commits:
                other.commit()
            else:
                other.rollback()
            thread.join(DEADLINE)
        assert fired == [not commits]
        assert installed.stats().depth == (0 if commits else 1)

    def test_tick_and_job_roll_back_together(self, dsn: str, installed: Queue) -> None:
        broken, sound = make(dsn, queue_class=BreaksOff), make(dsn)
        with closing(broken, sound):
            with pytest.raises(RuntimeError, match="no job today"):
                broken.fire(OFTEN, NOON)
            assert ticks(installed) == []
            assert sound.fire(OFTEN, NOON)

    def test_eight_at_once(self, dsn: str, installed: Queue) -> None:
        schedulers = [make(dsn) for _ in range(8)]
        barrier, fired = threading.Barrier(8), list[tuple[datetime, bool]]()

        def fire_all(scheduler: Scheduler) -> None:
            barrier.wait(10)
            for minute in range(20):
                fired.append((at(12, minute), scheduler.fire(OFTEN, at(12, minute))))

        with closing(*schedulers):
            threads = [threading.Thread(target=fire_all, args=(scheduler,)) for scheduler in schedulers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert sorted(tick for tick, mine in fired if mine) == [at(12, minute) for minute in range(20)]
        assert installed.stats().depth == 20


class TestLead:
    def test_one_of_two_until_it_is_gone(self, dsn: str, installed: Queue) -> None:
        one, two = make(dsn), make(dsn)
        with closing(two):
            with closing(one):
                assert [one.lead(), two.lead(), one.lead()] == [True, False, True]
            eventually(two.lead, "the other leads")

    def test_other_schedules_have_a_leader_of_their_own(self, dsn: str, installed: Queue) -> None:
        one, two = make(dsn), Scheduler(dsn, [OFTEN, Schedule("more", "x", every=1)])
        with closing(one, two):
            assert [one.lead(), two.lead()] == [True, True]

    def test_other_schemas_have_a_leader_of_their_own(self, dsn: str, installed: Queue) -> None:
        installed.connection.execute("CREATE SCHEMA IF NOT EXISTS elsewhere")
        elsewhere = make_conninfo(dsn, options="-c search_path=elsewhere")
        with psycopg.connect(elsewhere, autocommit=True) as connection:
            Scheduler.install(connection)
        one, two = make(dsn), make(elsewhere)
        with closing(one, two):
            assert [one.lead(), two.lead()] == [True, True]


class TestRun:
    def test_fires_each_tick_since_its_start_once(self, dsn: str, installed: Queue) -> None:
        start = now(installed)
        with running(make(dsn)):
            until_more(installed)
        each_once(installed)
        assert start < ticks(installed)[0]
        assert ticks(installed)[-1] <= now(installed)

    def test_never_early(self, dsn: str, installed: Queue) -> None:
        with running(make(dsn)):
            until_more(installed)
        early = "SELECT id FROM jobs JOIN ticks ON job = id WHERE created_at < tick"
        assert ask(installed, early) == []

    def test_who_is_ready_first_leads(self, dsn: str, installed: Queue) -> None:
        ready = [threading.Event(), threading.Event()]
        one, two = (make(dsn, ready=each.set) for each in ready)
        with running(one):
            assert ready[0].wait(DEADLINE)
            assert leads(installed, one)
            with running(two):
                assert ready[1].wait(DEADLINE)
                assert not leads(installed, two)

    def test_several_schedules(self, dsn: str, installed: Queue) -> None:
        schedules = [OFTEN, Schedule("seldom", "x", every=86_400), Schedule("also", "x", every=EVERY)]
        with running(Scheduler(dsn, schedules, poll=0.02)):
            until_more(installed, 6)
        names = set(ask(installed, "SELECT schedule FROM ticks WHERE schedule <> 'seldom'"))
        assert names == {"often", "also"}

    def test_reconnects_and_misses_nothing(self, dsn: str, installed: Queue) -> None:
        scheduler = make(dsn)
        cut: LiteralString = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        with running(scheduler):
            for _ in range(3):
                until_more(installed)
                assert ask(installed, cut, f"{scheduler.name} scheduler") == [True]
            until_more(installed)
        each_once(installed)

    def test_two_that_both_lead_harm_nothing(self, dsn: str, installed: Queue) -> None:
        with running(make(dsn, AlwaysLeads)), running(make(dsn, AlwaysLeads)):
            until_more(installed, 10)
        each_once(installed)

    @pytest.mark.parametrize("twin", [Scheduler, NoKey])
    def test_who_takes_over_fires_what_came_due_meanwhile(self, dsn: str, queue: Queue, twin: type[Scheduler]) -> None:
        """Most of it was fired. Without the key, which alone can tell, it is fired again."""
        twin.install(queue.connection)
        one, two = make(dsn, twin), make(dsn, twin)
        with running(one):
            eventually(lambda: leads(queue, one), "the one leads")
            with running(two):
                eventually(lambda: stands_by(queue, two), "the other stands by")
                until_more(queue)
                if twin is Scheduler:
                    each_once(queue)
                one.stop()
                eventually(lambda: leads(queue, two), "the other leads")
                until_more(queue, 5)
        if twin is Scheduler:
            each_once(queue)
        else:
            assert len(set(ticks(queue))) < len(ticks(queue)) == queue.stats().depth

    def test_alone_nobody_needs_the_key(self, dsn: str, queue: Queue) -> None:
        NoKey.install(queue.connection)
        with running(make(dsn, NoKey)):
            until_more(queue, 5)
        each_once(queue)

    def test_catches_up_only_so_far(self, dsn: str, installed: Queue) -> None:
        lead = threading.Event()

        class Late(Scheduler):
            def lead(self) -> bool:
                return lead.is_set()

        start = now(installed)
        with running(make(dsn, Late, catch_up=0.5)):
            eventually(lambda: now(installed) > start + timedelta(seconds=1), "a while goes by")
            begin = now(installed)
            lead.set()
            until_more(installed, 8)
        each_once(installed)
        assert ticks(installed)[0] > begin - timedelta(seconds=0.5)

    def test_second_stop_breaks_off_what_hangs(self, dsn: str, installed: Queue) -> None:
        scheduler = make(dsn)
        with psycopg.connect(dsn) as other, running(scheduler):
            until_more(installed)
            block(installed, other, scheduler)
            scheduler.stop()
            assert held_up(installed, scheduler)
            scheduler.stop()
        each_once(installed)

    def test_one_member_each(self) -> None:
        for twin in (NoKey, AlwaysLeads):
            (own,) = {name for name in vars(twin) if not name.startswith("__")}
            assert getattr(twin, own) != getattr(Scheduler, own)

    def test_no_database(self) -> None:
        with pytest.raises(psycopg.OperationalError):
            make("host=127.0.0.1 port=1 dbname=nowhere user=nobody").run()

    def test_not_installed(self, dsn: str) -> None:
        with pytest.raises(psycopg.errors.UndefinedTable):
            make(dsn).run()

    @pytest.mark.parametrize(
        "options",
        [
            {"poll": 0},
            {"poll": 1, "patience": 1},
            {"catch_up": 0.01},
            {"catch_up": LONGEST_CATCH_UP + 1},
        ],
    )
    def test_nonsense(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="need "):
            make("", **options)

    @pytest.mark.parametrize("schedules", [[], [OFTEN, OFTEN]])
    def test_nonsensical_schedules(self, schedules: list[Schedule]) -> None:
        with pytest.raises(ValueError, match="name of its own"):
            Scheduler("", schedules)


class TestProcess:
    def test_sigterm(self, dsn: str, installed: Queue) -> None:
        with process(dsn) as scheduler:
            until_more(installed)
            scheduler.signal(signal.SIGTERM)
            assert scheduler.popen.wait(DEADLINE) == DRAINED
        each_once(installed)

    def test_leader_killed_between_ticks(self, dsn: str, installed: Queue) -> None:
        with process(dsn) as one, process(dsn) as two:
            leader, other = pair(installed, one, two)
            leader.signal(signal.SIGKILL)
            eventually(lambda: leads(installed, other), "the other leads")
            until_more(installed)
        each_once(installed)

    def test_leader_killed_at_a_tick(self, dsn: str, installed: Queue) -> None:
        """It has entered the tick, and waits to put in the job."""
        with process(dsn) as one, process(dsn) as two, psycopg.connect(dsn) as blocker:
            leader, other = pair(installed, one, two)
            block(installed, blocker, leader)
            leader.signal(signal.SIGKILL)
            leader.popen.wait(DEADLINE)
            blocker.rollback()
            eventually(lambda: leads(installed, other), "the other leads")
            until_more(installed)
        each_once(installed)

    def test_leader_paused(self, dsn: str, installed: Queue) -> None:
        with process(dsn, patience=0.5) as one, process(dsn, patience=0.5) as two:
            leader, other = pair(installed, one, two)
            leader.signal(signal.SIGSTOP)
            eventually(lambda: leads(installed, other), "the other leads")
            until_more(installed)
            leader.signal(signal.SIGCONT)
            eventually(lambda: stands_by(installed, leader), "the one stands by")
            until_more(installed)
        each_once(installed)

    def test_stander_by_paused(self, dsn: str, installed: Queue) -> None:
        with process(dsn, patience=0.5) as one, process(dsn, patience=0.5) as two:
            leader, other = pair(installed, one, two)
            other.signal(signal.SIGSTOP)
            eventually(lambda: not stands_by(installed, other), "its session is ended")
            until_more(installed)
            other.signal(signal.SIGCONT)
            eventually(lambda: stands_by(installed, other), "it stands by again")
            leader.signal(signal.SIGTERM)
            eventually(lambda: leads(installed, other), "it leads")
            until_more(installed)
        each_once(installed)


def pair(queue: Queue, one: Process, two: Process) -> tuple[Process, Process]:
    """Wait until one of two leads and the other stands by, and some ticks are fired."""
    eventually(lambda: leads(queue, one) or leads(queue, two), "one leads")
    leader, other = (one, two) if leads(queue, one) else (two, one)
    eventually(lambda: stands_by(queue, other), "the other stands by")
    until_more(queue)
    return leader, other


def block(queue: Queue, connection: psycopg.Connection[Any], scheduler: Scheduler | Process) -> None:
    """Let nobody put in a job while this transaction lasts, and wait until a scheduler is held up by it."""
    connection.execute("LOCK TABLE jobs IN SHARE MODE")
    eventually(lambda: held_up(queue, scheduler), "the scheduler is held up")


def held_up(queue: Queue, scheduler: Scheduler | Process) -> bool:
    """Whether a scheduler waits for a lock."""
    sql: LiteralString = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    return bool(ask(queue, sql, f"{scheduler.name} scheduler"))
