"""An asyncio Kafka client (producer, consumer, admin) and the commands that use it.

Importing this package imports none of its modules; each name is imported when it is first used (PEP 562).
"""

from typing import TYPE_CHECKING

# By full names: mypy also meets this file under a package of tests/.
from odradek.protocol.common.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from odradek.client.admin import Admin
    from odradek.client.consumer import Consumer
    from odradek.client.producer import Producer
    from odradek.client.share import ShareConsumer
    from odradek.client.types import TopicPartition
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "Admin": "admin",
            "Consumer": "consumer",
            "Producer": "producer",
            "ShareConsumer": "share",
            "TopicPartition": "types",
        },
    )

__all__ = ["Admin", "Consumer", "Producer", "ShareConsumer", "TopicPartition"]
