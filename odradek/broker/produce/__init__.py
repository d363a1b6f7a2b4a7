"""A Produce request's appends and syncs, and its transaction. Kafka: ``DelayedProduce``,
``AddPartitionsToTxnManager``.
"""
