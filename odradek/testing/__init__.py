"""A pytest plugin, an in-process broker and a cluster of them for the tests of our users.

    from odradek.testing import InProcessBroker, KafkaCluster

pytest imports this module in every run, so each class is imported only when its name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # By its full name: mypy also meets this file as the package of tests/testing.
    from odradek.testing.broker.in_process import InProcessBroker
    from odradek.testing.clusters.cluster import KafkaCluster
    from odradek.testing.security.secured import BrokerSecurity, SecuredBroker
    from odradek.testing.traffic.recording import Traffic

__all__ = ["BrokerSecurity", "InProcessBroker", "KafkaCluster", "SecuredBroker", "Traffic"]

MODULES = {
    "BrokerSecurity": "security.secured",
    "InProcessBroker": "broker.in_process",
    "KafkaCluster": "clusters.cluster",
    "SecuredBroker": "security.secured",
    "Traffic": "traffic.recording",
}
"""Public name -> the module of this package that defines it."""


def __getattr__(name: str) -> object:
    """Imports a class when it is asked for (PEP 562)."""
    if name in MODULES:
        return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
