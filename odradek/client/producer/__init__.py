"""The producer. Kafka: ``KafkaProducer``, ``Sender``, ``RecordAccumulator``, ``TransactionManager``.

Importing this package imports none of its modules; each name is imported when it is first used (PEP 562).
"""

from typing import TYPE_CHECKING

# By full names: mypy also meets this file under a package of tests/.
from odradek.protocol.common.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from odradek.client.producer.producer import Producer
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "Producer": "producer",
        },
    )

__all__ = ["Producer"]
