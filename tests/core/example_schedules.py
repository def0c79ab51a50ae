"""Schedules for the tests of the command line."""

from collections.abc import Sequence

from queue_core import Schedule

schedules: Sequence[Schedule] = [Schedule("often", "quick", every=0.1)]
