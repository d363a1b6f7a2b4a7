"""The key of a partition wherever its topic is known by name. Pure."""

TopicPartition = tuple[str, int]
"""Topic name and partition index."""
