"""Logs which members a rebalance waits for if it takes long, and when it ends.

Shell. Owns: what was logged about each group. Never does: changing groups. Invariant: one line for each phase of a
rebalance that takes long, and one when it ends.
"""

import logging
from collections.abc import Iterable

from .core import GroupCore
from .slow_rebalances import SlowRebalance, slow_rebalances

logger = logging.getLogger(__name__)

SLOW_AFTER_MS = 10_000
"""The time of two heartbeats of the consumer protocol: a member learns of a rebalance with one and confirms with the
next."""


class RebalanceWatch:
    """Looks at all groups at each call of :meth:`look`."""

    def __init__(self) -> None:
        self._said: dict[str, SlowRebalance] = {}

    def look(self, cores: Iterable[GroupCore], now_ms: int) -> None:
        """Logs what is new since the last time. ``now_ms``: the clock that the groups were given."""
        slow = {one.group_id: one for core in cores for one in slow_rebalances(core, now_ms, SLOW_AFTER_MS)}
        for group_id, one in slow.items():
            said = self._said.get(group_id)
            if said is None or (said.state, said.since_ms) != (one.state, one.since_ms):
                logger.warning(
                    "group %r is in %s since %.1f s and waits for %s; after the rebalance timeout of %.0f s it goes on "
                    "without",
                    group_id,
                    one.state,
                    (now_ms - one.since_ms) / 1000,
                    one.waits_for,
                    one.limit_ms / 1000,
                )
        for group_id, said in self._said.items():
            if group_id not in slow:
                logger.info("group %r waits no longer, after %.1f s", group_id, (now_ms - said.since_ms) / 1000)
        self._said = slow
