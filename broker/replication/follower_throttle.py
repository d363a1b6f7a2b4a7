"""The throttle of what this broker copies from leaders (KIP-73), for all its fetchers together.

Pure. Owns: the quota. Never does: reading a clock, holding configs: it looks into the newest image. Invariants: only
replicas that the topic's config names are throttled; their bytes count also while they are in sync; a partition is left
out of fetches only while it is out of sync and the rate is exceeded. Source: ReplicaFetcherThread,
``AbstractFetcherThread.shouldFollowerThrottle``, TopicConfigHandler.
"""

from collections.abc import Callable
from functools import lru_cache

from ..config.definition import topic_keys
from ..config.stored import served_value
from ..metadata.dynamic_rates import dynamic_rate
from ..metadata.image import MetadataImage, ResourceType
from .replication_quota import ReplicationQuota

REPLICAS_KEY = "follower.replication.throttled.replicas"
RATE_KEY = "follower.replication.throttled.rate"
ALL_REPLICAS = "*"
THROTTLED_TOPICS_CACHED = 1_000
"""A config that names thousands of replicas is not parsed for each partition at each fetch."""


class FollowerThrottle:
    """Which partitions to leave out of fetches, and when."""

    def __init__(self, node_id: int, image: Callable[[], MetadataImage], quota: ReplicationQuota) -> None:
        """``image``: the newest."""
        self._node_id = node_id
        self._image = image
        self._quota = quota

    def fetched(self, topic: str, index: int, size: int, now_ms: int) -> None:
        """Counts the bytes of a partition that an answer had."""
        if self._is_throttled(topic, index):
            self._quota.record(size, now_ms)

    def leaves_out(self, topic: str, index: int, is_in_sync: bool, now_ms: int) -> bool:
        """Whether not to fetch a partition now."""
        if is_in_sync or not self._is_throttled(topic, index):
            return False
        return self._quota.is_exceeded(dynamic_rate(self._image(), self._node_id, RATE_KEY), now_ms)

    def _is_throttled(self, topic: str, index: int) -> bool:
        text = self._image().config_of(ResourceType.TOPIC, topic).get(REPLICAS_KEY)
        if text is None:
            return False
        partitions = _throttled_partitions(text, self._node_id)
        return partitions is None or index in partitions


@lru_cache(maxsize=THROTTLED_TOPICS_CACHED)
def _throttled_partitions(text: str, node_id: int) -> frozenset[int] | None:
    """The partitions of which a config names the replica on this broker; None for all."""
    replicas = served_value(topic_keys()[REPLICAS_KEY], text)
    if not isinstance(replicas, tuple):
        return frozenset()
    if ALL_REPLICAS in replicas:
        return None
    pairs = (replica.split(":") for replica in replicas)
    return frozenset(int(index) for index, broker_id in pairs if int(broker_id) == node_id)
