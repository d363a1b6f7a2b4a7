"""The topics that brokers keep for themselves. Source: ``org.apache.kafka.common.internals.Topic``."""

from ..storage.files.file_names import METADATA_TOPIC

OFFSETS_TOPIC = "__consumer_offsets"
ALWAYS_COMPACTED = (OFFSETS_TOPIC, "__transaction_state", "__share_group_state")
"""Those whose cleanup.policy is `compact` where nothing else is said."""
INTERNAL_TOPICS = frozenset((*ALWAYS_COMPACTED, METADATA_TOPIC))
