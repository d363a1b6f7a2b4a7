"""Logs which groups rebalance again and again while their committed offsets stand still.

Their consumers fail at a record (a poison record, a damaged batch) and start again, or a record takes them longer than
max.poll.interval.ms, after which they leave the group and join again.

Shell. Owns: what was seen of each group that has rebalanced since the last look. Never does: changing groups.
Invariants: one line for a group until one of its offsets moves; a group without rebalances costs a comparison at each
look; at most MOST_PARTITIONS offsets of a group are kept.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from odradek.protocol.common.steps import Steps
from odradek.protocol.names.topics import TopicPartition

from ..timers.log_lines import quoted
from .core import GroupCore

if TYPE_CHECKING:
    from .offsets.store import OffsetStore

logger = logging.getLogger(__name__)

REBALANCES = 5
"""A group that has rebalanced so often without progress is logged,"""
LONG_MS = 60_000
"""if it has made none for this time. Five members that start one after the other need less."""
MOST_PARTITIONS = 100
"""The most partitions of a group that are watched: the first ones with records that were not read."""
GROUPS_A_STEP = 256
"""Groups that one step looks at, at 0.2 us each. One that has rebalanced costs 1 us for each of its partitions."""

EndOffset = Callable[[str, int], int | None]
"""The end of what consumers of a partition can read; None if another broker leads it."""


class _Standstill:
    """The rebalances of a group since one of its committed offsets moved last."""

    def __init__(self, generation: int, now_ms: int, behind: dict[TopicPartition, int]) -> None:
        self.first_generation = generation
        self.since_ms = now_ms
        self.behind = behind
        """The committed offset of each partition that has further records."""
        self.is_logged = False


class ProgressWatch:
    """Checks all groups at each call of :meth:`log_changes`."""

    def __init__(self, end_offset: EndOffset) -> None:
        self._end_offset = end_offset
        self._generations: dict[str, int] = {}
        self._standstills: dict[str, _Standstill] = {}

    def log_changes(self, cores: Iterable[GroupCore], now_ms: int) -> Steps[None]:
        """Logs, in steps, which groups stand still. ``now_ms``: the time by the clock that groups use."""
        seen: dict[str, int] = {}
        for core in cores:
            for count, (group_id, generation) in enumerate(_generations(core), 1):
                if not count % GROUPS_A_STEP:
                    yield
                seen[group_id] = generation
                if generation != self._generations.get(group_id, generation):
                    self._look(core.offsets, group_id, generation, now_ms)
            yield
        self._generations = seen
        self._standstills = {group_id: known for group_id, known in self._standstills.items() if group_id in seen}

    def _look(self, offsets: "OffsetStore", group_id: str, generation: int, now_ms: int) -> None:
        behind = dict(self._behind(offsets, group_id))
        known = self._standstills.get(group_id)
        stands = (
            {} if known is None else {at: offset for at, offset in known.behind.items() if behind.get(at) == offset}
        )
        if known is None or not stands:
            if known is not None and known.is_logged:
                logger.info("group %s has committed offsets that it stood at", quoted(group_id))
            self._standstills[group_id] = _Standstill(generation, now_ms, behind)
            return
        known.behind = stands
        rebalances = generation - known.first_generation
        if not known.is_logged and rebalances >= REBALANCES and now_ms - known.since_ms >= LONG_MS:
            known.is_logged = True
            self._log(group_id, known, rebalances, now_ms)

    def _behind(self, offsets: "OffsetStore", group_id: str) -> Iterator[tuple[TopicPartition, int]]:
        """The partitions of which the group has not read everything, with their committed offsets."""
        found = 0
        for topic, partitions in offsets.topics_of(group_id).items():
            for index, committed in partitions.items():
                end_offset = self._end_offset(topic, index)
                if end_offset is not None and committed.offset < end_offset:
                    yield (topic, index), committed.offset
                    found += 1
                    if found == MOST_PARTITIONS:
                        return

    def _log(self, group_id: str, known: _Standstill, rebalances: int, now_ms: int) -> None:
        (topic, index), offset = min(known.behind.items())
        others = f" (and {len(known.behind) - 1} other partitions)" if len(known.behind) > 1 else ""
        logger.warning(
            "group %s has rebalanced %d times in %.0f s and committed nothing beyond offset %d of %s-%d%s, although "
            "there are further records. Its consumers may fail at a record there, or need longer for it than their "
            "max.poll.interval.ms. To see it: odradek consume --topic %s --partition %d --offset %d --max-messages 1",
            quoted(group_id),
            rebalances,
            (now_ms - known.since_ms) / 1000,
            offset,
            topic,
            index,
            others,
            topic,
            index,
            offset,
        )


def _generations(core: GroupCore) -> Iterator[tuple[str, int]]:
    """The generation or epoch of each group, also of one whose only member has left and will join again."""
    for group in list(core.groups.classic.values()):
        yield group.group_id, group.generation_id
    for consumer_group in list(core.groups.consumer.values()):
        yield consumer_group.group_id, consumer_group.group_epoch
