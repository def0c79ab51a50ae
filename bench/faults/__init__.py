"""The faults, one a file. Each has a precondition that must have been witnessed, and leaves a receipt that it was done.

A receipt is read back from the system, never from what the fault believes that it did: a fault that does nothing leaves
none, and the arm is then inconclusive.
"""

from bench.faults.base import Evidence, Fault, NoReceipt

__all__ = ["Evidence", "Fault", "NoReceipt"]
