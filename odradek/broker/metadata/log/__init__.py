"""The log of ``__cluster_metadata-0`` and its snapshots, as files. Kafka: ``KafkaRaftLog``, ``Snapshots``."""
