"""The producers of a log: sequence numbers, transactions, snapshots. Kafka: ``ProducerStateManager``."""
