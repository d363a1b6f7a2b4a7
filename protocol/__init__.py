"""The Kafka protocol without any I/O: message table, codecs, framing, record batches."""
