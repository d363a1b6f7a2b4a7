"""The rates of throttled replication: broker configs that exist only in the metadata.

Pure. Never does: applying them. Invariant: a config of this broker overrides that of all brokers; an invalid one counts
as unset. Source: ``BrokerConfigHandler.processConfigChanges``.
"""

from odradek.protocol.records.varint import MAX_INT64

from ...config.definition import dynamic_only_keys
from ...config.stored import served_value
from .image import MetadataImage, ResourceType


def dynamic_rate(image: MetadataImage, node_id: int, key: str) -> int:
    """The value of a rate config in bytes a second; :data:`MAX_INT64` if the rate is not limited."""
    for name in (str(node_id), ""):
        text = image.config_of(ResourceType.BROKER, name).get(key)
        value = None if text is None else served_value(dynamic_only_keys()[key], text)
        if isinstance(value, int):
            return value
    return MAX_INT64
