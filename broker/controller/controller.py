"""What a decision about the metadata knows besides the image. Pure. Source: Kafka's QuorumController.Builder."""

from collections.abc import Callable
from typing import NamedTuple

from ..config.server_config import ServerConfig


def nothing_is_short(directory_id: bytes) -> int:
    """Every log directory has room."""
    return 0


class Controller(NamedTuple):
    """This node, its static configuration, and a source of random 16-byte ids.

    ``shortage_in``: how short of room the log directory with an id is, 0 not at all; the metadata doesn't say.
    """

    node_id: int
    config: ServerConfig
    random_uuid: Callable[[], bytes]
    shortage_in: Callable[[bytes], int] = nothing_is_short
