"""The input of a decision about the metadata, besides the image. Pure. Source: Kafka's QuorumController.Builder."""

from collections.abc import Callable
from typing import NamedTuple

from ..config.server_config import ServerConfig


def nothing_is_short(directory_id: bytes) -> int:
    """The ``shortage_in`` of a node whose directories all have enough space."""
    return 0


class Controller(NamedTuple):
    """This node, its static configuration, and a source of random 16-byte ids.

    ``shortage_in``: how short of space the log directory with an id is; 0 if it has enough. The metadata does not have
    this.
    """

    node_id: int
    config: ServerConfig
    random_uuid: Callable[[], bytes]
    shortage_in: Callable[[bytes], int] = nothing_is_short
