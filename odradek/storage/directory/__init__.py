"""Log directories: their logs, lock, contents and offsets. Kafka: ``LogManager``."""
