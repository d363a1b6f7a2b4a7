"""Which partition of a coordinator's topic a key belongs to. Pure. Source: ``GroupCoordinatorService.partitionFor``."""

from ...protocol.java_hash import java_hash_code
from ..metadata.image import MetadataImage


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of a group among ``partition_count``."""
    code = java_hash_code(group_id)
    # Kafka's Utils.abs: the one number without an absolute value becomes 0.
    return (0 if code == -0x8000_0000 else abs(code)) % partition_count


def partition_count(image: MetadataImage, topic: str, configured: int) -> int:
    """The partitions of a coordinator's topic: those that exist, else as many as are configured.

    A key keeps its partition, whatever the configuration says later (``GroupCoordinator.startup``).
    """
    existing = image.topics_by_name.get(topic)
    return len(existing.partitions) if existing else configured
