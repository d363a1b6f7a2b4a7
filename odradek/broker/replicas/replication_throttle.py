"""The throttles of replication (KIP-73): one for what this broker copies, one for what it sends to followers.

Pure. Owns: the quota. Never does: reading a clock, keeping configs (it reads the newest image). Invariants: only
replicas that the topic's config names are throttled; their bytes count also while they are in sync; a partition is left
out only while it is out of sync and the rate is exceeded. Source: ReplicationQuotaManager, ReplicaFetcherThread,
``AbstractFetcherThread.shouldFollowerThrottle``, ``ReplicaManager.shouldLeaderThrottle``, TopicConfigHandler.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from odradek.protocol.records.varint import MAX_INT64

from ..config.definition import dynamic_only_keys, topic_keys
from ..config.stored import served_value
from ..metadata.image.image import MetadataImage, ResourceType
from ..quotas.windows import SimpleRate


class ReplicationQuota(SimpleRate):
    """The rate of what was copied (SimpleRate of Kafka), over ``replication.quota.window.num`` samples of
    ``replication.quota.window.size.seconds``."""

    __slots__ = ()

    def is_exceeded(self, rate_limit: int, now_ms: int) -> bool:
        """Whether the rate is above ``rate_limit`` bytes a second."""
        return self.rate(now_ms) > rate_limit


def dynamic_rate(image: MetadataImage, node_id: int, key: str) -> int:
    """The value of a rate config in bytes a second; :data:`MAX_INT64` if the rate is not limited.

    A config of this broker overrides that of all brokers; an invalid one counts as unset
    (``BrokerConfigHandler.processConfigChanges``).
    """
    for configs in reversed(image.broker_config_layers(node_id)):
        text = configs.get(key)
        value = None if text is None else served_value(dynamic_only_keys()[key], text)
        if isinstance(value, int):
            return value
    return MAX_INT64


ALL_REPLICAS = "*"
THROTTLED_TOPICS_CACHED = 1_000
"""The number of parsed configs that are cached. A config may name thousands of replicas, and is read for each partition
of each fetch."""


class ThrottleKeys(NamedTuple):
    """The topic's config that names replicas, and the broker's config with the rate."""

    replicas: str
    rate: str


FOLLOWER_KEYS = ThrottleKeys("follower.replication.throttled.replicas", "follower.replication.throttled.rate")
LEADER_KEYS = ThrottleKeys("leader.replication.throttled.replicas", "leader.replication.throttled.rate")
"""This config names leaders: ``partition:broker`` throttles all followers that copy the partition from that broker."""


class ReplicationThrottle:
    """Decides which partitions to leave out of a fetch or an answer because the rate is exceeded."""

    def __init__(
        self, node_id: int, image: Callable[[], MetadataImage], quota: ReplicationQuota, keys: ThrottleKeys
    ) -> None:
        """``image`` returns the newest image."""
        self._node_id = node_id
        self._image = image
        self._quota = quota
        self._keys = keys

    def copied(self, topic: str, index: int, size: int, now_ms: int) -> None:
        """Counts ``size`` bytes of a partition's records that a fetch has copied, if the partition is throttled."""
        if self._is_throttled(topic, index):
            self._quota.record(size, now_ms)

    def leaves_out(self, topic: str, index: int, is_in_sync: bool, now_ms: int) -> bool:
        """Whether a partition must not be copied now. ``is_in_sync``: whether the follower is in sync."""
        if is_in_sync or not self._is_throttled(topic, index):
            return False
        return self._quota.is_exceeded(dynamic_rate(self._image(), self._node_id, self._keys.rate), now_ms)

    def _is_throttled(self, topic: str, index: int) -> bool:
        key = self._keys.replicas
        text = self._image().config_of(ResourceType.TOPIC, topic).get(key)
        if text is None:
            return False
        partitions = _throttled_partitions(key, text, self._node_id)
        return partitions is None or index in partitions


@lru_cache(maxsize=THROTTLED_TOPICS_CACHED)
def _throttled_partitions(key: str, text: str, node_id: int) -> frozenset[int] | None:
    """The partitions whose replica on this broker is throttled by a config; None for all."""
    replicas = served_value(topic_keys()[key], text)
    if not isinstance(replicas, tuple):
        return frozenset()
    if ALL_REPLICAS in replicas:
        return None
    pairs = (replica.split(":") for replica in replicas)
    return frozenset(int(index) for index, broker_id in pairs if int(broker_id) == node_id)
