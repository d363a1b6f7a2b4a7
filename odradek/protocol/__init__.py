"""The Kafka protocol: message table, codecs, framing, record batches. Its only I/O is reading the table's files."""
