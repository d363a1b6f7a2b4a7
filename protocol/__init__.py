"""The Kafka protocol: message table, codecs, framing, record batches. The only I/O: the table reads its data."""
