"""From a frame to a handler, and from its response back to bytes. Kafka: ``RequestChannel``, ``KafkaApis``."""
