"""The metadata image: the state that the records of ``__cluster_metadata-0`` make. Kafka: ``MetadataImage``."""
