"""The configuration of the transaction coordinator, from the broker's keys.

Pure. Owns: the list of keys that it reads. Never does: reading them again after a change. Source:
``TransactionConfig``.
"""

from typing import Any

from odradek.protocol.names.internal_topics import TRANSACTION_STATE_TOPIC

from ..config.server_config import ServerConfig
from ..coordinator.partitioning import partition_count
from ..metadata.image.image import MetadataImage
from .config import TransactionCoordinatorConfig


def transaction_settings(config: ServerConfig, image: MetadataImage) -> TransactionCoordinatorConfig:
    """The configuration of the transaction coordinator. ``image`` has the partition count of an existing topic."""
    settings: dict[str, Any] = {
        "transaction_max_timeout_ms": config.get_int("transaction.max.timeout.ms"),
        "transactional_id_expiration_ms": config.get_int("transactional.id.expiration.ms"),
        "transaction_abort_timed_out_transaction_cleanup_interval_ms": config.get_int(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        ),
        "transaction_remove_expired_transaction_cleanup_interval_ms": config.get_int(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
        "request_timeout_ms": config.get_int("request.timeout.ms"),
        "transaction_state_log_num_partitions": partition_count(
            image, TRANSACTION_STATE_TOPIC, config.get_int("transaction.state.log.num.partitions")
        ),
    }
    return TransactionCoordinatorConfig(**settings)
