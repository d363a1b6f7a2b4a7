"""One partition's log: append, read, roll, flush, retention, truncation. Kafka: ``UnifiedLog``, ``LocalLog``."""
