"""Spark's view of log directories: the data source ``kafkalog``."""
