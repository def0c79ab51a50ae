"""The harness; it knows a queue only through the contract."""

import sys

if sys.platform == "win32":
    raise SystemExit("leaseproof needs signals and process groups: it runs on Linux, on macOS (untested), and in WSL")
