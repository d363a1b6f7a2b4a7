"""What several handlers need of the broker, each part on its own: a handler names what it uses and nothing else.

Owns: the shapes. Never does: anything. Each is a part of :class:`..server.broker.Broker`.
"""

from typing import Protocol

from ..groups.coordinator import GroupCoordinator
from ..metadata.image import MetadataImage
from ..replicas.partitions import Partitions
from ..transactions.coordinator import TransactionCoordinator


class HasGroupCoordinator(Protocol):
    """Serves groups."""

    @property
    def group_coordinator(self) -> GroupCoordinator:
        """The groups and their offsets."""


class HasTransactionCoordinator(Protocol):
    """Serves transactions."""

    @property
    def transaction_coordinator(self) -> TransactionCoordinator:
        """The transactions."""


class HasPartitions(Protocol):
    """Serves partitions."""

    @property
    def partitions(self) -> Partitions:
        """What is served."""


class Metadata(Protocol):
    """The metadata service, as far as it is read."""

    @property
    def image(self) -> MetadataImage:
        """The cluster as it is now."""


class HasMetadata(Protocol):
    """Knows the cluster."""

    @property
    def metadata(self) -> Metadata:
        """The metadata service."""
