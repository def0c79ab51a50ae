"""`python -m tests.fakes NAME control|worker`; the bench starts it."""

import sys

from tests.fakes import miniatures
from tests.fakes.sane import Sane

fake: type[Sane] = getattr(miniatures, sys.argv[1])
sys.exit(fake().main(sys.argv[2:]))
