"""What commits, fetches and expiry need of whoever keeps groups and offsets (:class:`..core.GroupCore`).

Owns: the shape. Never does: anything.
"""

from typing import Protocol

from ..consumer.needs import HasConsumerGroups
from .store import OffsetStore


class HasOffsets(HasConsumerGroups, Protocol):
    """Keeps the committed offsets beside the groups that they belong to."""

    offsets: OffsetStore
