"""The open connections by listener, client library, user and host.

Owns: counting them, in steps. Never does: changing them. Invariant: at most MOST_ROWS rows; the rest is summed up,
because clients choose the names.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from odradek.protocol.common.steps import Steps

from ..timers.log_lines import cut

MOST_ROWS = 500
COUNTED_A_STEP = 256
MAX_CHARACTERS = 200


class ConnectedAs(NamedTuple):
    """What the connections of one row share."""

    listener: str
    software: str
    version: str
    user: str
    client_id: str
    host: str


class OpenConnection(NamedTuple):
    """What is read of one connection."""

    listener: str
    software: tuple[str, str]
    user: str
    client_id: str | None
    host: str


class ConnectionCounts(NamedTuple):
    """The rows with the most connections."""

    total: int
    rows: list[tuple[ConnectedAs, int]]
    others: int
    """Connections that are in no row."""


def count_connections(connections: Iterable[OpenConnection]) -> Steps[ConnectionCounts]:
    """Counts the connections, in steps. ``connections`` must not change while it is iterated."""
    counted: Counter[ConnectedAs] = Counter()
    total = 0
    for one in connections:
        total += 1
        name, version = one.software
        counted[
            ConnectedAs(
                one.listener,
                cut(name, MAX_CHARACTERS),
                cut(version, MAX_CHARACTERS),
                cut(one.user, MAX_CHARACTERS),
                cut(one.client_id or "", MAX_CHARACTERS),
                one.host,
            )
        ] += 1
        if not total % COUNTED_A_STEP:
            yield
    rows = counted.most_common(MOST_ROWS)
    return ConnectionCounts(total, rows, total - sum(count for _, count in rows))
