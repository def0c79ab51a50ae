"""A worker: `dramatiq tasks`, as the guide has it, of one process with as many threads as slots."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

OPTIONS = json.loads(os.environ["LEASEPROOF_OPTIONS"])
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"


def main() -> int:
    command = [
        "tasks",
        "--path",
        str(Path(__file__).resolve().parent),
        "--processes",
        "1",
        "--threads",
        str(OPTIONS["slots"]),
    ]
    if TUNED:
        wake = str(max(1, round(OPTIONS["poll"] * 1000)))
        ahead = str(OPTIONS["slots"] + OPTIONS["prefetch"])
        names = {"dramatiq_worker_timeout": wake, "dramatiq_restart_delay": wake, "dramatiq_queue_prefetch": ahead}
        os.environ.update(names)
        if OPTIONS["grace"]:
            command += ["--worker-shutdown-timeout", str(round(OPTIONS["grace"] * 1000))]
    from dramatiq import cli  # late: it reads the variables when it is imported

    booted, told = os.pipe()
    os.environ["BOOTED"] = str(told)
    lines = []

    def ready() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, cli.HANDLED_SIGNALS)  # they are the main thread's
        if os.read(booted, 1):
            lines.append(kit.ready())

    threading.Thread(target=ready, daemon=True).start()
    return cli.main(cli.make_argument_parser().parse_args(command))


if __name__ == "__main__":
    sys.exit(main())
