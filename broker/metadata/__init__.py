"""The cluster's metadata: KRaft records, the image they make, the decisions that write more of them, and their log.

``image`` (what is known), ``replay`` (the only way it changes), ``topics``, ``partitions``, ``elections``, ``configs``,
``registration`` (pure decisions: image and request in, records and response out), ``records`` (bytes of a record),
``format`` (a fresh directory), ``snapshot`` and ``log_reader`` (an image as bytes, and back), ``metadata_log``,
``snapshot_files`` and ``snapshot_generator`` (shells over the files of ``__cluster_metadata-0``) and ``service`` (what
handlers and the daemon use).
"""
