"""Streams groups: members of a Kafka Streams application share the tasks of its topology (KIP-1071)."""
