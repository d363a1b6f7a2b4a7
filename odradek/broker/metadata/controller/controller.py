"""The input of a decision about the metadata, besides the image. Pure. Source: Kafka's QuorumController.Builder."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError

from ...config.server_config import ServerConfig
from ...config.stored import ADVERTISED
from ..image.image import Endpoint


def nothing_is_short(directory_id: bytes) -> int:
    """The ``shortage_in`` of a node whose directories all have enough space."""
    return 0


TakePartitions = Callable[[int], None]
"""Takes new or deleted partitions from a client's quota (KIP-599). Raises KafkaError if too few are left."""


def unlimited(_partitions: int) -> None:
    """Takes nothing: the client has no quota."""


def nothing_to_check(configs: Mapping[str, str]) -> None:
    """The ``check_listeners`` of a node without TLS."""


def no_loggers(name: str) -> bool:
    """The ``has_logger`` of a node whose loggers requests do not change."""
    return False


def advertises_what_it_started_with(text: str | None) -> Sequence[Endpoint]:
    """The ``endpoints_under`` of a node that can't change its addresses, because other nodes control the cluster.

    Raises KafkaError with Kafka's text.
    """
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{ADVERTISED}]")


class Controller(NamedTuple):
    """This node, its static configuration, and a source of random 16-byte ids.

    ``shortage_in``: how short of space the log directory with an id is; 0 if it has enough. The metadata does not have
    this. ``check_listeners``: checks the key stores of listeners under the future dynamic configs of this node. Raises
    KafkaError. ``has_logger``: whether this process has a logger with a name. ``endpoints_under``: the addresses for
    clients under a dynamic ``advertised.listeners``, or without one (None). Raises KafkaError.
    """

    node_id: int
    config: ServerConfig
    random_uuid: Callable[[], bytes]
    shortage_in: Callable[[bytes], int] = nothing_is_short
    check_listeners: Callable[[Mapping[str, str]], None] = nothing_to_check
    has_logger: Callable[[str], bool] = no_loggers
    endpoints_under: Callable[[str | None], Sequence[Endpoint]] = advertises_what_it_started_with
