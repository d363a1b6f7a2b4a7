"""``odradek reassign-partitions``: what ``kafka-reassign-partitions.sh`` does."""
