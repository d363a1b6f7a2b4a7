"""What a Produce request waits for, and its transaction. Kafka: ``DelayedProduce``, ``AddPartitionsToTxnManager``."""
