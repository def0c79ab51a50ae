"""The checks: pure functions of a history, each of which yields the anomalies that it finds; one theme a file.

An anomaly is one named way to be wrong. Its evidence is given as positions in the history, so that a reader can look.
Times are the witness's, on the bench's clock; what the queue says of itself (`row`) is corroboration.
A history may have 100,000 events: a check indexes what it needs once (`base.index`), and does not scan it for each job.
"""

from bench.checks.base import Anomaly, Check

__all__ = ["Anomaly", "Check"]
