"""Logs which members a rebalance waits for if it takes long, and when it ends.

Shell. Owns: what was logged about each group. Never does: changing groups. Invariant: one line for each phase of a
rebalance that takes long, and one when it ends.
"""

import logging
from collections.abc import Iterable

from odradek.protocol.common.steps import Steps

from .core import GroupCore
from .slow_rebalances import SlowRebalance, slow_rebalances

logger = logging.getLogger(__name__)

SLOW_AFTER_MS = 10_000
"""A rebalance that takes longer is logged. This is the time of two heartbeats of the consumer protocol: a member learns
of a rebalance by one, and confirms by the next."""


class RebalanceWatch:
    """Checks all groups at each call of :meth:`log_changes`."""

    def __init__(self) -> None:
        self._logged: dict[str, SlowRebalance] = {}

    def log_changes(self, cores: Iterable[GroupCore], now_ms: int) -> Steps[None]:
        """Logs, in steps, what has changed since the last call. ``now_ms``: the time by the clock that groups use."""
        slow: dict[str, SlowRebalance] = {}
        for core in cores:
            slow.update(
                {
                    rebalance.group_id: rebalance
                    for rebalance in (yield from slow_rebalances(core, now_ms, SLOW_AFTER_MS))
                }
            )
            yield
        for group_id, rebalance in slow.items():
            logged = self._logged.get(group_id)
            if logged is None or (logged.state, logged.since_ms) != (rebalance.state, rebalance.since_ms):
                logger.warning(
                    "group %r has been in %s for %.1f s and waits for %s; after the rebalance timeout of %.0f s it "
                    "continues without them",
                    group_id,
                    rebalance.state,
                    (now_ms - rebalance.since_ms) / 1000,
                    rebalance.waits_for,
                    rebalance.limit_ms / 1000,
                )
        for group_id, logged in self._logged.items():
            if group_id not in slow:
                logger.info("group %r no longer waits, after %.1f s", group_id, (now_ms - logged.since_ms) / 1000)
        self._logged = slow
