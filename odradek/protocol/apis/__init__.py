"""The APIs and messages of the protocol by version, and the feature levels. Kafka: ``ApiKeys``, ``MetadataVersion``."""
