"""Which partition of ``__consumer_offsets`` a group belongs to. Source: ``GroupCoordinatorService.partitionFor``."""


def java_hash_code(text: str) -> int:
    """``String.hashCode`` of Java: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for index in range(0, len(units), 2):
        code = (31 * code + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return code - 0x1_0000_0000 if code >= 0x8000_0000 else code


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of a group among ``partition_count``."""
    code = java_hash_code(group_id)
    # Kafka's Utils.abs: the one number without an absolute value becomes 0.
    return (0 if code == -0x8000_0000 else abs(code)) % partition_count
