"""``odradek reassign-partitions``: what ``kafka-reassign-partitions.sh`` does. Its actions, one module each."""
