"""The open connections by listener, client library and user.

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
    library: str
    version: str
    user: str


class OpenConnection(NamedTuple):
    """What is read of one connection."""

    listener: str
    software: tuple[str, str]
    user: str
    idle_s: float
    """The seconds since it was used."""


class Counted(NamedTuple):
    """The connections of one row. ``idle_s``: the seconds since one of them was used."""

    connected_as: ConnectedAs
    connections: int
    idle_s: float


class ConnectionCounts(NamedTuple):
    """The rows with the most connections."""

    total: int
    rows: list[Counted]
    others: int
    """Connections that are in no row."""


def count_connections(connections: Iterable[OpenConnection]) -> Steps[ConnectionCounts]:
    """Counts the connections, in steps. ``connections`` must not change while it is iterated."""
    counted: Counter[ConnectedAs] = Counter()
    idle_s: dict[ConnectedAs, float] = {}
    total = 0
    for one in connections:
        total += 1
        name, version = (cut(text, MAX_CHARACTERS) for text in one.software)
        key = ConnectedAs(one.listener, name, version, cut(one.user, MAX_CHARACTERS))
        counted[key] += 1
        idle_s[key] = min(one.idle_s, idle_s.get(key, one.idle_s))
        if not total % COUNTED_A_STEP:
            yield
    rows = [Counted(key, count, idle_s[key]) for key, count in counted.most_common(MOST_ROWS)]
    return ConnectionCounts(total, rows, total - sum(row.connections for row in rows))
