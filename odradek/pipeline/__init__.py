"""PySpark jobs over Kafka log directories: dump, audit and compaction."""
