"""When a log is cleaned, and by which process. Kafka: ``LogCleaner``, ``LogCleanerManager``."""
