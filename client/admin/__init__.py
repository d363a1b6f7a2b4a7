"""The admin client, one module for each family of requests. Kafka: ``KafkaAdminClient``.

Importing this package imports none of its modules; each name is imported when it is first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # By full names: mypy also meets this file under a package of tests/.
    from odradek.client.admin.admin import (
        Admin,
    )
    from odradek.client.admin.base import (
        ClusterDescription,
    )
    from odradek.client.admin.configs import (
        ConfigEntry,
        ConfigSynonym,
    )
    from odradek.client.admin.groups import (
        GroupDescription,
        GroupListing,
        MemberDescription,
    )
    from odradek.client.admin.log_dirs import (
        LogDirDescription,
        ReplicaInfo,
    )
    from odradek.client.admin.topics import (
        CreatedTopic,
        NewTopic,
    )
    from odradek.client.admin.transactions import (
        ProducerState,
        TransactionDescription,
        TransactionListing,
    )

__all__ = [
    "Admin",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigSynonym",
    "CreatedTopic",
    "GroupDescription",
    "GroupListing",
    "LogDirDescription",
    "MemberDescription",
    "NewTopic",
    "ProducerState",
    "ReplicaInfo",
    "TransactionDescription",
    "TransactionListing",
]

MODULES = {
    "Admin": "admin",
    "ClusterDescription": "base",
    "ConfigEntry": "configs",
    "ConfigSynonym": "configs",
    "CreatedTopic": "topics",
    "GroupDescription": "groups",
    "GroupListing": "groups",
    "LogDirDescription": "log_dirs",
    "MemberDescription": "groups",
    "NewTopic": "topics",
    "ProducerState": "transactions",
    "ReplicaInfo": "log_dirs",
    "TransactionDescription": "transactions",
    "TransactionListing": "transactions",
}


def __getattr__(name: str) -> object:
    """Imports the module that defines ``name``."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
