"""The records of the topics that brokers write for themselves: which bytes stand before their messages.

Pure. One module for each of Kafka's two framings: :mod:`.coordinator_serde` (``__consumer_offsets``,
``__transaction_state``, ``__share_group_state``) and :mod:`.metadata_serde` (``__cluster_metadata``,
``__remote_log_metadata``). The broker, ``dump-log`` and the jobs read and write them here and nowhere else.
"""
