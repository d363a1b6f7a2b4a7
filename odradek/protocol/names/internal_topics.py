"""The names of Kafka's internal topics. Pure. Source: ``org.apache.kafka.common.internals.Topic``."""

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = bytes(15) + b"\x01"
"""Kafka's ``Uuid.METADATA_TOPIC_ID``."""

ALWAYS_COMPACTED = (OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_STATE_TOPIC)
"""Topics whose cleanup.policy is `compact` unless they are configured otherwise."""
INTERNAL_TOPICS = frozenset(ALWAYS_COMPACTED)
RESERVED_TOPICS = INTERNAL_TOPICS | {METADATA_TOPIC}
"""The internal topics, and the metadata log, which is not a topic for clients."""


def is_internal(topic: str) -> bool:
    """Whether clients may not write to the topic."""
    return topic in INTERNAL_TOPICS
