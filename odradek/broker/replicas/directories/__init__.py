"""The log directories: identity, failure, recovery, free space. Kafka: ``LogManager``, ``LogDirFailureHandler``."""
