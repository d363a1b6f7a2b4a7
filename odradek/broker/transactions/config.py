"""The settings of the transaction coordinator, under Kafka's names. Source: ``TransactionLogConfig``,
``TransactionStateManagerConfig``, ``TransactionConfig``."""

from odradek.protocol.common.holder import holder


@holder()
class TransactionCoordinatorConfig:
    """The settings; defaults are Kafka's. Times in milliseconds."""

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    transaction_state_log_num_partitions: int = 50
    request_timeout_ms: int = 30_000
    """How long a request waits until the records of its transaction are durable."""
