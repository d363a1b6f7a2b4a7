"""Start and stop of a broker, and what runs beside requests. Kafka: ``BrokerServer``, ``BrokerMetadataPublisher``."""
