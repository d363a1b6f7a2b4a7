"""Start and stop of a broker, and its background work. Kafka: ``BrokerServer``, ``BrokerMetadataPublisher``."""
