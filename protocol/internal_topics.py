"""The topics that belong to the broker itself. Source: ``org.apache.kafka.common.internals.Topic``. Pure."""

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset((OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_STATE_TOPIC))


def is_internal(topic: str) -> bool:
    """Whether clients may not write to the topic."""
    return topic in INTERNAL_TOPICS
