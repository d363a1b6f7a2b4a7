"""Connections to brokers, and the cluster's metadata. Kafka: ``NetworkClient``, ``Metadata``."""
