"""Record batches of format version 2: headers, records, building, compression, control records. Bytes in, bytes out.

Pure.
"""
