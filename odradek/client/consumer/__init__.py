"""The consumer. Kafka: ``KafkaConsumer``, ``Fetcher``, ``SubscriptionState``.

Importing this package imports none of its modules; each name is imported when it is first used (PEP 562).
"""

from typing import TYPE_CHECKING

# By full names: mypy also meets this file under a package of tests/.
from odradek.protocol.common.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from odradek.client.consumer.consumer import Consumer, RebalanceListener
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "Consumer": "consumer",
            "RebalanceListener": "consumer",
        },
    )

__all__ = ["Consumer", "RebalanceListener"]
