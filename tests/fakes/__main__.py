"""`python -m tests.fakes NAME control|worker`; the bench starts it."""

import sys

from tests.fakes import miniatures, trees
from tests.fakes.sane import Sane

fake: type[Sane] = getattr(trees, sys.argv[1], None) or getattr(miniatures, sys.argv[1])
sys.exit(fake().main(sys.argv[2:]))
