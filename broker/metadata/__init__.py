"""The cluster's metadata: KRaft records, the image that they make, and their log.

``image`` (what is known), ``replay`` (the only way it changes), ``records`` (bytes of a record), ``format`` (a fresh
directory), ``snapshot`` and ``log_reader`` (an image as bytes, and back), ``metadata_log``, ``snapshot_files`` and
``snapshot_generator`` (shells over the files of ``__cluster_metadata-0``), ``service`` (what handlers and the server
use). The decisions that write more records are in ``controller/``.
"""
