"""Classes of Produce errors, by the producer's reaction.

Plain data. Source: ``Sender.completeBatch``, ``TransactionManager.canRetry``.
"""

from odradek.protocol.errors import ErrorCode

REFRESH_ON = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
"""Errors after which the metadata is refreshed (Java's InvalidMetadataException)."""
LOST_SEQUENCE = frozenset({ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER})
"""Errors if the broker has no state of the producer, or misses batches before this one."""
