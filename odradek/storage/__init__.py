"""Segmented log storage in Apache Kafka's on-disk format."""
