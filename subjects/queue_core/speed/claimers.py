"""Claimers at once, each a process with a connection of its own.

    python -m subjects.queue_core.speed.claimers CLAIMERS CLAIMS

Each claims and finishes CLAIMS jobs in LEASEPROOF_POSTGRES, one at a time, all from the same moment on. Printed is, as
JSON, the `seconds` that all took together and the `ms` of all claims.
"""

import json
import os
import sys
import time
import traceback

from subjects.queue_core.speed.claims import claim, opened


def main() -> None:
    claimers, claims = map(int, sys.argv[1:])
    ready, is_ready = os.pipe()
    go, hold = os.pipe()
    answers = []
    for _ in range(claimers):
        answer, say = os.pipe()
        if os.fork() == 0:  # nothing here has a thread, or a connection yet
            os.close(hold)
            status = 1
            try:
                _claim(claims, go, is_ready, say)
                status = 0
            except BaseException:  # noqa: BLE001 - a child must end here, whatever it was
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(say)
        answers.append(answer)
    os.close(is_ready)
    for _ in range(claimers):
        os.read(ready, 1)
    os.close(hold)
    told = []
    for answer in answers:
        with open(answer) as lines:
            told.append(json.loads(lines.read()))
    began, ended = min(each["began"] for each in told), max(each["ended"] for each in told)
    print(json.dumps({"seconds": ended - began, "ms": [took for each in told for took in each["ms"]]}))


def _claim(claims: int, go: int, is_ready: int, say: int) -> None:
    with opened(os.environ["LEASEPROOF_POSTGRES"]) as queue:
        os.write(is_ready, b".")
        os.read(go, 1)  # until the parent has closed it
        began = time.monotonic()
        taken = [claim(queue)[1] for _ in range(claims)]
        ended = time.monotonic()
    with open(say, "w") as answer:
        json.dump({"began": began, "ended": ended, "ms": taken}, answer)


if __name__ == "__main__":
    main()
