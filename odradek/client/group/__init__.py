"""Membership of a group: both protocols, assignment, committed offsets. Kafka: ``AbstractCoordinator``."""
