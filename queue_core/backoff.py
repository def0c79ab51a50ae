"""How long to wait before trying again."""

import random


class Backoff:
    """Exponential backoff with full jitter: anywhere between nothing and a bound that doubles with each attempt.

    The jitter spreads out what failed together, so that it does not come back together.

    Args:
        base: the bound after the first attempt, in seconds.
        cap: the bound never exceeds this, in seconds.
        rng: the source of randomness; by default one of its own.

    Raises:
        ValueError: `base` is not positive, or `cap` is below it.
    """

    def __init__(self, base: float = 1.0, cap: float = 300.0, rng: random.Random | None = None) -> None:
        if not 0 < base <= cap:
            raise ValueError(f"backoff needs 0 < base <= cap, not base={base}, cap={cap}")
        self.base = base
        self.cap = cap
        self._rng = rng or random.Random()

    def bound(self, attempt: int) -> float:
        """The longest wait, in seconds, after the `attempt`-th attempt (counted from 1)."""
        # Past 2**60 any cap has been reached, and a float would overflow.
        return min(self.cap, self.base * 2.0 ** min(max(attempt, 1) - 1, 60))

    def delay(self, attempt: int) -> float:
        """The wait, in seconds, after the `attempt`-th attempt (counted from 1)."""
        return self._rng.uniform(0.0, self.bound(attempt))
