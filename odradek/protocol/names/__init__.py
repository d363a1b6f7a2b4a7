"""Names that the protocol fixes: internal topics, partitions, states. Kafka: ``org.apache.kafka.common.internals``."""
