"""`python -m subjects.queue_core control|worker|scheduler`; the bench starts it, see docs/protocol.md."""

import sys

from subjects.queue_core.adapter import main

sys.exit(main(sys.argv[1:]))
