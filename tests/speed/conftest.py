"""A ground to measure on, as small as it can be."""

from collections.abc import Iterator

import pytest

from bench.speed.ground import Ground, ground


@pytest.fixture(scope="session")
def tiny() -> Iterator[Ground]:
    """One round, at the least of all amounts."""
    with ground("auto", rounds=1, scale=1e-6, tell=lambda text: None) as made:
        yield made
