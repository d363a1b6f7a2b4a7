"""Record batches, format version 2 (magic 2): headers, records, building, compression, control records. Pure: bytes in, bytes out."""
