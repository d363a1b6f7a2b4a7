"""The parts that all led partitions of a broker share, for tests of one partition."""

from collections.abc import Callable

from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metrics.replica_state import IsrChanges
from odradek.broker.replicas.leading import LeadingCommon, SendChange
from odradek.broker.replicas.replication_throttle import LEADER_KEYS, ReplicationQuota, ReplicationThrottle


def leading_common(
    node_id: int,
    clock_ms: Callable[[], int],
    *,
    send: SendChange = lambda topic_id, change, answered: None,
    changes: IsrChanges | None = None,
    image: MetadataImage | None = None,
) -> LeadingCommon:
    """``send``: gets changes of the ISR; by default they are dropped. ``image``: has the configs of the throttle."""
    metadata = MetadataImage() if image is None else image
    throttle = ReplicationThrottle(node_id, lambda: metadata, ReplicationQuota(11, 1_000), LEADER_KEYS)
    return LeadingCommon(send, clock_ms, IsrChanges() if changes is None else changes, throttle, None)
