"""The producer. Kafka: ``KafkaProducer``, ``Sender``, ``RecordAccumulator``, ``TransactionManager``.

Importing this package imports none of its modules; each name is imported when it is first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # By full names: mypy also meets this file under a package of tests/.
    from odradek.client.producer.producer import (
        Producer,
    )

__all__ = ["Producer"]

MODULES = {
    "Producer": "producer",
}


def __getattr__(name: str) -> object:
    """Imports the module that defines ``name``."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
