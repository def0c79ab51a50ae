"""The miniatures: each is the sane fake but for one misbehaviour, which its docstring names."""

import contextlib
import json
import os
import signal
import subprocess
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


class DropsWhatCameBefore(Sane):
    """Takes what came in before its worker for done."""

    def ready(self) -> None:
        self.sql("UPDATE jobs SET state = 'done' WHERE state = 'queued'")
        super().ready()


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
    """Its worker ends by itself in the middle of a job, and calls that a success.

    Not one that comes second: it might take a job and be gone before anybody has heard that it is ready.
    """

    def run(self, job: Held) -> None:
        if self.name == "worker-2":
            return super().run(job)
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


class HoldsForAnHour(Sane):
    """Does nothing wrong, but holds a job for an hour unrenewed."""

    describe: Message = Sane.describe | {"lease": 3600.0}


# The adapter's faults that only a lint or a smoke sees: what it declares is not so.


class MisspellsAField(Sane):
    """Describes itself with a field that there is not, nearly."""

    describe: Message = Sane.describe | {"tels": ["outcome"]}


class PromisesToTell(Sane):
    """Says that its workers tell of what they do, and they tell nothing."""

    describe: Message = Sane.describe | {"tells": ["renewed", "outcome"]}

    def ready(self) -> None:
        super().ready()
        self.line.say = lambda event, **fields: None  # type: ignore[method-assign]


class PromisesToTellOfReclaims(Sane):
    """Says that its workers tell of their reclaims, and they have none."""

    describe: Message = Sane.describe | {"tells": ["reclaimed"]}


class PromisesADelay(Sane):
    """Says that it takes a delay, and leaves it to nobody."""

    describe: Message = Sane.describe | {"options": ["delay"]}


class PromisesAKey(Sane):
    """Says that a key is unique, and puts in whatever comes."""

    describe: Message = Sane.describe | {"options": ["key"]}


class PromisesPriorities(Sane):
    """Says that it takes a priority, and can't."""

    describe: Message = Sane.describe | {"options": ["priority"]}

    def reply(self, id: int, answer: Message) -> None:
        if answer == {"error": "no priorities"}:
            print(json.dumps({"id": id, **answer}), flush=True)
        else:
            super().reply(id, answer)

    def answer(self, message: Message) -> Message:
        if any("priority" in job for job in message.get("jobs", [])):
            return {"error": "no priorities"}
        return super().answer(message)


class PromisesAConnection(Sane):
    """Says that its handlers have connections, and gives them none."""

    describe: Message = Sane.describe | {"options": ["connection"]}


class TurnsTheOrder(Sane):
    """Runs the last job first."""

    def sql(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        return super().sql(statement.replace("min(id)", "max(id)"), **values)


class BeginsAllAtOnce(TurnsTheOrder):
    """Runs all that is queued side by side, so that the last job is begun a moment before the first."""

    def hold(self, job: Held) -> None:
        threading.Thread(target=super().hold, args=(job,)).start()


class MixesUpItsIds(Sane):
    """Answers the right ids, in the wrong order."""

    def answer(self, message: Message) -> Message:
        answer = super().answer(message)
        return {"ids": answer["ids"][::-1]} if message["request"] == "enqueue" else answer


class KnowsEverything(Sane):
    """Says of a job that it never saw that it is done."""

    def inspect(self, id: str) -> Message:
        row = super().inspect(id)
        return row | {"state": "done"} if row["state"] == "absent" else row


class NeverSawIt(Sane):
    """Can't say anything of a job that it does not know."""

    def reply(self, id: int, answer: Message) -> None:
        if any(row["state"] == "absent" for row in answer.get("rows", [])):
            print(json.dumps({"id": id, "error": "no such job"}), flush=True)
        else:
            super().reply(id, answer)


class CountsFromZero(Sane):
    """Tells its puppets that the first attempt is attempt 0."""

    def run(self, job: Held) -> None:
        puppet.obey(job.name, job.attempt - 1)


class CountsTwice(Sane):
    """Tells its puppets that the first attempt is attempt 2."""

    def run(self, job: Held) -> None:
        puppet.obey(job.name, job.attempt + 1)


class SpeaksForAnother(Sane):
    """Its puppets say that they run at another worker."""

    def run(self, job: Held) -> None:
        os.environ["LEASEPROOF_WORKER"] = "somebody"
        super().run(job)


class HasAnotherToken(Sane):
    """Its worker shows a token that it made up."""

    def ready(self) -> None:
        os.environ["LEASEPROOF_TOKEN"] = "made up"
        super().ready()


class HangsUp(Sane):
    """Its worker closes its own line as soon as it is ready."""

    def ready(self) -> None:
        super().ready()
        self.line.close()
        self.line.say = lambda event, **fields: None  # type: ignore[method-assign]


class HidesItsChildren(Sane):
    """Its worker starts a process that nobody could find again."""

    def ready(self) -> None:
        env = {key: value for key, value in os.environ.items() if key != "LEASEPROOF_RUN"}
        self.child = subprocess.Popen(["sleep", "600"], env=env)
        super().ready()

    def told_to_stop(self) -> None:
        self.child.kill()
        super().told_to_stop()


class EndsOtherwise(Sane):
    """Ends with another status than it says."""

    def worker(self) -> None:
        super().worker()
        sys.exit(3)


class OutlivesStop(Sane):
    """Its control process works on when it is told to stop."""

    def answer(self, message: Message) -> Message:
        return {} if message["request"] == "stop" else super().answer(message)


class OutlivesItsStdin(Sane):
    """Its control process stays when nobody can ask it anything any more."""

    def control(self) -> None:
        super().control()
        threading.Event().wait()


class SaysGoodbye(Sane):
    """Its control process prints a last word."""

    def answer(self, message: Message) -> Message:
        if message["request"] == "stop":
            print("Goodbye!", flush=True)
        return super().answer(message)


class SwallowsFailures(Sane):
    """Takes a job that raised for one that is done."""

    def run(self, job: Held) -> None:
        with contextlib.suppress(puppet.OrderedFailure):
            super().run(job)


class NeverOver(Sane):
    """Says of every job that was begun that it runs."""

    def inspect(self, id: str) -> Message:
        row = super().inspect(id)
        return row | {"state": "running"} if row["state"] == "done" else row


class TellsItsProfile(Sane):
    """Does nothing wrong: its version is the profile that it is told, and what is set in it."""

    describe: Message = Sane.describe | {
        "version": os.environ.get("LEASEPROOF_PROFILE", "") + os.environ.get("LEASEPROOF_SETTINGS", "")
    }
