"""Encodes and decodes the records of internal topics: the bytes before their messages (type and version).

Pure. One module for each of Kafka's two framings: :mod:`.coordinator_serde` (``__consumer_offsets``,
``__transaction_state``, ``__share_group_state``) and :mod:`.metadata_serde` (``__cluster_metadata``,
``__remote_log_metadata``). The broker, ``dump-log`` and the jobs use only these modules to read and write them.
"""
