"""The loopback ports of the bench's own servers, which are theirs again after a crash."""

import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from random import SystemRandom

LEAST = 10_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
USUAL = 32_768
"""from where on a kernel gives ports to outgoing connections, unless it says so itself in RANGE"""
ENOUGH = 1_000
"""so many to choose from, or any will do"""


def free_ports(count: int) -> list[int]:
    """So many loopback ports, no two alike, that nobody has right now.

    No outgoing connection is given one of them, which would have it when a server that was down wants it back.
    """
    below = int(RANGE.read_text().split()[0]) if RANGE.exists() else USUAL
    choose = SystemRandom()
    found: list[int] = []
    with ExitStack() as stack:
        while len(found) < count:
            listener = stack.enter_context(socket.socket())
            port = choose.randrange(LEAST, below) if below - LEAST >= ENOUGH else 0
            with suppress(OSError):
                listener.bind(("127.0.0.1", port))
                found.append(listener.getsockname()[1])
    return found
