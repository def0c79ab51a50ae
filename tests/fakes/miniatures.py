"""The miniatures: each is the sane fake but for one misbehaviour, which its docstring names."""

import os
import signal
import sys
import threading
from typing import Any

from bench import puppet
from tests.fakes.sane import Held, Message, Sane

__all__ = ["Sane"]


# The queue's own faults.


class LosesAJob(Sane):
    """Says that a job is done, and never ran it."""

    def run(self, job: Held) -> None:
        pass


class RunsItTwice(Sane):
    """Runs each job twice, side by side."""

    def run(self, job: Held) -> None:
        again = threading.Thread(target=super().run, args=(job,))
        again.start()
        super().run(job)
        again.join()


class HandsItOutAgain(Sane):
    """Runs each job once more when it has run."""

    def run(self, job: Held) -> None:
        super().run(job)
        super().run(job)


class ReclaimsTheLiving(Sane):
    """Gives back every running job, whoever holds a lease on it."""

    def reclaim(self) -> list[str]:
        taken = self.sql("UPDATE jobs SET state = 'queued', owner = NULL WHERE state = 'running' RETURNING id")
        return [str(row["id"]) for row in taken]


class ReclaimsNothing(Sane):
    """Gives no job back, ever."""

    def reclaim(self) -> list[str]:
        return []


class IgnoresSigterm(Sane):
    """Catches SIGTERM, and works on as if nothing had been said."""

    def told_to_stop(self) -> None:
        pass


class DiesOfSigterm(Sane):
    """Does not catch SIGTERM, and is killed by it in the middle of its job."""

    def ready(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        super().ready()


class ShutsItsEarsToSigterm(Sane):
    """Has the kernel drop SIGTERM."""

    def ready(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().ready()


# The adapter's faults: its control process.


class ControlDiesAtOnce(Sane):
    """Its control process ends before it has answered anything."""

    def control(self) -> None:
        sys.exit("no such broker")


class ControlDiesLater(Sane):
    """Its control process is killed by what it is asked."""

    def enqueue(self, name: str) -> str:
        os.abort()


class Hangs(Sane):
    """Its control process never answers an enqueue."""

    def enqueue(self, name: str) -> str:
        threading.Event().wait()
        return ""


class PrintsRubbish(Sane):
    """Its control process greets the world on stdout, where only answers belong."""

    def control(self) -> None:
        print("Hello, world!", flush=True)
        super().control()


class AnswersOutOfTurn(Sane):
    """Answers the request before the one that it was sent."""

    def reply(self, id: int, answer: Message) -> None:
        super().reply(id - 1, answer)


class AnswersNothing(Sane):
    """Answers with no `answer`."""

    def reply(self, id: int, answer: Message) -> None:
        print(f'{{"id": {id}}}', flush=True)


class Refuses(Sane):
    """Says that it can't prepare."""

    def reply(self, id: int, answer: Message) -> None:
        print(f'{{"id": {id}, "error": "the disk is full"}}', flush=True)


class LacksSlack(Sane):
    """Describes itself with no `slack`."""

    describe: Message = {key: value for key, value in Sane.describe.items() if key != "slack"}  # noqa: RUF012


class SpeaksAnotherProtocol(Sane):
    """Describes itself as speaking protocol 2."""

    describe: Message = Sane.describe | {"protocol": 2}


class OwnsByMagic(Sane):
    """Describes an ownership that there is not."""

    describe: Message = Sane.describe | {"ownership": "magic"}


class NumbersItsJobs(Sane):
    """Gives its jobs numbers where the contract has strings."""

    def enqueue(self, name: str) -> Any:
        return int(super().enqueue(name))


class GivesOneId(Sane):
    """Gives all jobs the same id."""

    def enqueue(self, name: str) -> str:
        super().enqueue(name)
        return "1"


class GivesTheIdAgain(Sane):
    """Numbers the jobs of each request anew."""

    def answer(self, message: Message) -> Message:
        answer = super().answer(message)
        return {"ids": [f"x{i}" for i in range(len(answer["ids"]))]} if message["request"] == "enqueue" else answer


class ListsANumber(Sane):
    """Lists what is no row among the rows."""

    def answer(self, message: Message) -> Message:
        answer = super().answer(message)
        return {"rows": [*answer["rows"], 5]} if message["request"] == "inspect" else answer


class SaysTrue(Sane):
    """Says true and false where the contract has t and f."""

    def inspect(self, id: str) -> Message:
        row = super().inspect(id)
        return row | {"lease_alive": row.get("lease_alive") == "t"}


class LacksAColumn(Sane):
    """Does not say whether a lease is alive."""

    def inspect(self, id: str) -> Message:
        return {column: value for column, value in super().inspect(id).items() if column != "lease_alive"}


class BuriesTheBench(Sane):
    """Its control process prints brackets, nested deeper than any parser goes."""

    def control(self) -> None:
        print("[" * 100_000, flush=True)
        super().control()


class InventsAState(Sane):
    """Says that a job is in a state that there is not."""

    def inspect(self, id: str) -> Message:
        return super().inspect(id) | {"state": "undead"}


class InspectsAnother(Sane):
    """Is asked for one job, and tells of another."""

    def inspect(self, id: str) -> Message:
        return super().inspect(id) | {"id": "another"}


# The adapter's faults: its workers.


class WorkerDiesAtOnce(Sane):
    """Its worker ends before it takes jobs."""

    def worker(self) -> None:
        sys.exit("no licence")


class WorkerEndsInTheMiddle(Sane):
    """Its worker ends by itself in the middle of a job, and calls that a success."""

    def run(self, job: Held) -> None:
        puppet.Line("started", job=job.name)
        os._exit(0)


class NeverReady(Sane):
    """Its worker never says that it takes jobs."""

    def ready(self) -> None:
        self.stopping.wait()


class TalksRubbish(Sane):
    """Its worker tells the witness what the protocol does not have."""

    def ready(self) -> None:
        super().ready()
        self.line.say("tired")


class SaysNothing(Sane):
    """Its worker sends the witness an empty object."""

    def ready(self) -> None:
        super().ready()
        self.line._socket.sendall(b"{}\n")
