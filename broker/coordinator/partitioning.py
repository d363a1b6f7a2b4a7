"""Which partition of ``__consumer_offsets`` a group belongs to. Source: ``GroupCoordinatorService.partitionFor``."""

from ...protocol.java_hash import java_hash_code


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of a group among ``partition_count``."""
    code = java_hash_code(group_id)
    # Kafka's Utils.abs: the one number without an absolute value becomes 0.
    return (0 if code == -0x8000_0000 else abs(code)) % partition_count
