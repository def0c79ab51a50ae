"""A result written by hand: scenarios that are proven, and one of each that is not."""

from __future__ import annotations

from typing import Any

from tests.reports.samples import EXPLANATIONS

Result = dict[str, Any]

RECLAIM_DIFF = """--- queue_core/queue.py
+++ scenarios/worker_death.py
@@ -1,6 +1,3 @@
     def reclaim(self) -> list[int]:
-        \"\"\"Give back what is running with a lease that has run out.\"\"\"
-        with self.transaction() as tx:
-            rows = tx.execute(RECLAIM).fetchall()
-        return [row.id for row in rows]
+        return []
"""


CLAIM_DIFF = """--- queue_core/queue.py
+++ scenarios/worker_death.py
@@ -1 +1 @@
-    WHERE state = 'queued'
+    WHERE leased_until IS NULL OR leased_until < now()
"""


def arm(scenario: str, id_: str, verdict: str, expected: str = "pass", **more: Any) -> Result:
    twin = None if id_.startswith("sound") else id_.rsplit("-", 1)[0]
    found = more.pop("anomalies", [])
    return {
        "id": id_,
        "code": "twin" if twin else "sound",
        "twin": twin,
        "fault": id_.endswith("-fault"),
        "verdict": verdict,
        "expected": expected,
        "as_expected": expected == ("pass" if verdict == "pass" else found[0]["name"] if found else verdict),
        "anomalies": found,
        "reason": "",
        "figures": [],
        "tries": 1,
        "lease": 1.0,
        "seconds": 3.2,
        "stall": 0.004,
        "history": f"{scenario}/{id_}.jsonl",
        **more,
    }


def anomaly(name: str, text: str, *events: int) -> Result:
    return {"name": name, "text": text, "events": list(events)}


def twin(name: str, member: str, summary: str, kind: str, diff: str = "") -> Result:
    return {"name": name, "member": member, "summary": summary, "anomaly": kind, "also": [], "diff": diff}


def scenario(name: str, claim: str, status: str, twins: list[Result], arms: list[Result], **more: Any) -> Result:
    return {
        "name": name,
        "claim": claim,
        "row": 1,
        "origin": "A1",
        "fault": "",
        "sham": "",
        "status": status,
        "why": "",
        "explanations": {},
        "twins": twins,
        "arms": arms,
        **more,
    }


def worker_death() -> Result:
    name = "worker-death"
    stranded = anomaly("stranded", "job 1 was not finished within 2.0 s of the reclaim", 12, 31)
    early = anomaly("claimed-while-running", "rival-2 was given job 1 while its state was running", 24)
    return scenario(
        name,
        "The state running holds a job, and neither a lock nor a live lease does; only a reclaim gives it back.",
        "proven",
        [
            twin(
                "ReclaimFindsNothing",
                "Queue.reclaim",
                "Everything as in the sound queue, but a reclaim finds nothing.",
                "stranded",
                RECLAIM_DIFF,
            ),
            twin(
                "ClaimByLease",
                "Queue.CLAIM",
                "Everything as in the sound queue, but a claim looks at the lease, not at the state.",
                "claimed-while-running",
                CLAIM_DIFF,
            ),
        ],
        [
            arm(name, "sound-fault", "pass", figures=[["recovered in", "1.42 s"]]),
            arm(name, "sound-sham", "pass", seconds=1.1),
            arm(name, "ReclaimFindsNothing-fault", "fail", "stranded", anomalies=[stranded], seconds=4.4),
            arm(name, "ReclaimFindsNothing-sham", "pass", seconds=1.2),
            arm(name, "ClaimByLease-fault", "fail", "claimed-while-running", anomalies=[early]),
            arm(name, "ClaimByLease-sham", "pass", seconds=1.1),
        ],
        fault="kill -9 of the owner in the middle of the job",
        sham="the worker is not killed",
        explanations=EXPLANATIONS,
    )


def pair(name: str, claim: str, row: int, twin_name: str, member: str, kind: str, **more: Any) -> Result:
    """A scenario of four arms that came out as it must."""
    found = [anomaly(kind, f"{kind} was seen", 9, 14)]
    arms = [
        arm(name, "sound-fault", "pass", **more),
        arm(name, "sound-sham", "pass"),
        arm(name, f"{twin_name}-fault", "fail", kind, anomalies=found),
        arm(name, f"{twin_name}-sham", "pass"),
    ]
    return scenario(name, claim, "proven", [twin(twin_name, member, "One thing less.", kind)], arms, row=row)


def sound() -> Result:
    """All is proven."""
    figure = [["back after", "1.0 s lease + 0.24 s wait"]]
    return envelope(
        [
            worker_death(),
            pair("heartbeat", "A renewed lease keeps its owner.", 2, "NoRenewal", "Worker.renew", "double-execution"),
            pair("sigterm-drain", "SIGTERM ends no lease.", 3, "DeafDrain", "Worker.drain", "double-execution"),
            pair("claim-race", "A job is handed out once.", 4, "SelectThenUpdate", "Queue.claim", "double-claim"),
            pair("late-finish", "A late finish is refused.", 7, "Trusting", "Queue.complete", "stale-finish-accepted"),
            pair("reclaim-latency", "Back in bound.", 13, "OnInsert", "Reclaimer.run", "stranded", figures=figure),
        ],
        "proven",
        0,
    )


def mixed() -> Result:
    """One of each that is not proven."""
    result = sound()
    scenarios = result["scenarios"]
    beat, drain, race = scenarios[1], scenarios[2], scenarios[3]
    beat["status"], beat["why"] = "unproven", "NoRenewal passed with the fault: its check cannot fail"
    beat["arms"][2] |= {"verdict": "pass", "as_expected": False, "anomalies": []}
    reason = "a stall of 310 ms ate into the margin of 300 ms, three times"
    drain["status"], drain["why"] = "inconclusive", "one arm has no verdict"
    drain["arms"][0] |= {"verdict": "inconclusive", "as_expected": False, "reason": reason, "tries": 3, "lease": 4.0}
    race["status"], race["why"] = "unproven", "the sound queue failed"
    found = [anomaly("double-claim", f"job {n} was handed out twice, to w1 and to w{n}", n, n + 1) for n in range(2, 9)]
    race["arms"][0] |= {"verdict": "fail", "as_expected": False, "anomalies": found}
    return result | {"verdict": "unproven", "exit_code": 1, "longest_stall": 0.31}


def envelope(scenarios: list[Result], verdict: str, exit_code: int) -> Result:
    return {
        "format": 1,
        "leaseproof": "0.1.0",
        "started": "2026-07-18T09:30:00Z",
        "command": "leaseproof matrix",
        "wall_seconds": 41.2,
        "cpu_seconds": 55.0,
        "given": "queue_core",
        "profile": "tuned",
        "lease": 1.0,
        "article": False,
        "full": False,
        "seed": 12345,
        "jobs": 8,
        "subject": {"subject": "queue_core", "version": "0.1.0", "ownership": "lease and heartbeat"},
        "environment": {
            "postgres": "18.6 (embedded)",
            "python": "3.11.7",
            "psycopg": "3.3.9",
            "platform": "Linux",
            "cpus": 2,
        },
        "longest_stall": 0.011,
        "verdict": verdict,
        "exit_code": exit_code,
        "scenarios": scenarios,
    }
