"""The type of a partition's key: topic name and partition index. Pure."""

TopicPartition = tuple[str, int]
"""Topic name and partition index."""
