"""The cluster's metadata: KRaft records, the image that they make, and their log.

``image`` (the state), ``replay`` (the only way to change it), ``format`` (a new directory), ``snapshot`` and
``log_reader`` (an image as bytes, and back), ``metadata_log``, ``snapshot_files`` and ``snapshot_generator`` (shells
over the files of ``__cluster_metadata-0``), ``service`` (what handlers and the server use). The decisions that write
more records are in ``controller/``.
"""
