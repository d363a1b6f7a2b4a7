"""An asyncio Kafka client (producer, consumer, admin) and the commands that use it.

Importing this package imports none of its modules; each name is imported when it is first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # By full names: mypy also meets this file under a package of tests/.
    from odradek.client.admin import (
        Admin,
    )
    from odradek.client.consumer import (
        Consumer,
    )
    from odradek.client.producer import (
        Producer,
    )
    from odradek.client.types import (
        TopicPartition,
    )

__all__ = ["Admin", "Consumer", "Producer", "TopicPartition"]

MODULES = {
    "Admin": "admin",
    "Consumer": "consumer",
    "Producer": "producer",
    "TopicPartition": "types",
}


def __getattr__(name: str) -> object:
    """Imports the module that defines ``name``."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
