"""Effects that are made once, however often their job runs, and by however many at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, LiteralString

import psycopg

from queue_core import schema


class Once:
    """A table of the keys of effects: whoever enters a key first makes the effect.

    The key and the effect belong in one transaction: guard() makes it. An effect in the same database is then made
    exactly once. One outside it can be made, and the process die before the key is committed; only whoever receives the
    effect can tell that repeat, so give the key on (and keep such effects short: the transaction is open meanwhile).

    Every operation raises psycopg.Error as the connection does.
    """

    EFFECTS: ClassVar[LiteralString] = schema.BLOCKS["effects"]
    """The table, with its key."""

    TAKE: ClassVar[LiteralString] = "INSERT INTO effects (key) VALUES (%(key)s) ON CONFLICT DO NOTHING"
    """Enter a key, if nobody has."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def install(self) -> None:
        """Create the table where it is missing, in one transaction; see schema.install."""
        schema.install(self.connection, self.EFFECTS)

    def take(self, key: str) -> bool:
        """Enter a key in the caller's transaction. Returns whether this is the first to enter it.

        While another transaction that entered the key is open, this waits for its end: after a commit it is False,
        after a rollback True.
        """
        return self.connection.execute(self.TAKE, {"key": key}).rowcount == 1

    @contextmanager
    def guard(self, key: str) -> Iterator[bool]:
        """Open a transaction, give whether the effect is still to be made, and commit the key with it at the end.

        An exception rolls both back: the effect is still to be made. Within the caller's transaction this is a
        savepoint, and all commits with that.
        """
        with self.connection.transaction():
            yield self.take(key)
