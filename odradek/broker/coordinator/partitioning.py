"""The partition of a coordinator's topic that a key belongs to. Pure. Source:
``GroupCoordinatorService.partitionFor``."""

from odradek.protocol.java.hash import java_hash_code

from ..metadata.image.image import MetadataImage


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of a group among ``partition_count``."""
    code = java_hash_code(group_id)
    # Kafka's Utils.abs: the smallest int32 has no absolute value and becomes 0.
    return (0 if code == -0x8000_0000 else abs(code)) % partition_count


def partition_count(image: MetadataImage, topic: str, configured: int) -> int:
    """Returns the partition count of a coordinator's topic, or the configured count if the topic does not exist.

    So a key keeps its partition if the configuration changes (``GroupCoordinator.startup``).
    """
    existing = image.topics_by_name.get(topic)
    return len(existing.partitions) if existing else configured
