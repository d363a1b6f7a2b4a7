"""Refreshes a consumer's metadata and finds its missing positions, in a background task.

Owns: that task, and the time of the next look for missing topics. Never does: fetching records, committing, membership.
Source: ``org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded``.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..cluster.cluster import Cluster
from ..errors import BrokerConnectionError
from ..group.subscription import SubscriptionState
from .epoch_validation import EpochValidation
from .positions import Positions

if TYPE_CHECKING:
    from ..group.group import Group

MISSING_TOPICS_CHECK_S = 1.0


class Upkeep:
    """The background work of one consumer. All methods run on its event loop."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        positions: Positions,
        validation: EpochValidation,
        done: Callable[[], None],
        *,
        creates_topics: bool,
    ) -> None:
        """``done`` is called when a task has ended. ``creates_topics``: ``allow.auto.create.topics``."""
        self._cluster = cluster
        self._subscription = subscription
        self._positions = positions
        self._validation = validation
        self._done = done
        self._creates_topics = creates_topics
        self.group: Group | None = None
        """The group, once the consumer has started with one."""
        self._task: asyncio.Task[None] | None = None
        self._next_topic_check = 0.0
        self._missing: tuple[int, frozenset[str], bool] = (-1, frozenset(), False)
        """The generation of the metadata, the topics, and whether the metadata lacks one of them."""

    def advance(self) -> None:
        """Raises the error of a task that has ended, and starts another one if there is something to do."""
        if self._task is not None and self._task.done():
            task, self._task = self._task, None
            task.result()
        if self._task is None and self._is_needed():
            self._task = asyncio.ensure_future(self._update_metadata_and_positions())
            self._task.add_done_callback(lambda _: self._done())

    async def stop(self) -> None:
        """Cancels the task and waits for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def next_topic_check(self) -> float | None:
        """The loop time (s) at which to look for missing topics; None if none is missing, or if a task is at work."""
        return self._next_topic_check if self._task is None and self._topics_missing() else None

    def _is_needed(self) -> bool:
        return bool(
            self._cluster.is_stale
            or self._subscription.without_position()
            or self._validation.pending()
            or (self._topics_missing() and asyncio.get_running_loop().time() >= self._next_topic_check)
        )

    def _topics_missing(self) -> bool:
        topics, metadata = self._subscription.topics, self._cluster.metadata
        generation, checked, missing = self._missing
        if generation != metadata.generation or checked is not topics:
            known = metadata.topics
            missing = any(name not in known or not known[name].partitions for name in topics)
            self._missing = metadata.generation, topics, missing
        return missing

    async def _update_metadata_and_positions(self) -> None:
        """Refreshes metadata, finds missing positions, then validates the positions of partitions with a new leader."""
        await self._refresh_metadata()
        await self._positions.find(None if self.group is None else self.group.fetch_committed)
        if self._validation.pending():
            await self._validation.validate(self._positions.reset_timestamp())

    async def _refresh_metadata(self) -> None:
        if not self._cluster.is_stale and not self._topics_missing():
            return
        self._next_topic_check = asyncio.get_running_loop().time() + MISSING_TOPICS_CHECK_S
        topics = self._subscription.topics
        watched = self.group.member.watched_topics - topics if self.group is not None else frozenset()
        try:
            await self._cluster.refresh(self._subscription.topics, auto_create=self._creates_topics)
            if watched:
                await self._cluster.refresh(watched)
        except BrokerConnectionError:
            if self._cluster.metadata.brokers:
                await asyncio.sleep(self._cluster.backoff_s(0))
                return
            raise
        if self.group is not None:
            known = self._cluster.metadata.topics
            counts = {t: len(known[t].partitions) if t in known else 0 for t in topics | watched}
            if topics == self._subscription.topics:
                self.group.member.metadata_changed(counts)
