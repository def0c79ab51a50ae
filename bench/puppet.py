"""The puppet of the bench's own subjects: the Python kit, under the name by which its code is reached from here."""

from bench.kits.python.leaseproof_kit import Line, OrderedFailure, Tools, Unable, obey, ready

__all__ = ["Line", "OrderedFailure", "Tools", "Unable", "obey", "ready"]
