"""The metadata while a broker runs: who writes it, and its subscribers. Kafka: ``MetadataPublisher``."""
