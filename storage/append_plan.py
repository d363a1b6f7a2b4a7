"""What an append will do, decided before a byte is written (being filled in)."""

from enum import Enum
from typing import NamedTuple


class AppendOrigin(Enum):
    """Who appends, which decides what is checked (Kafka's AppendOrigin)."""

    REPLICATION = "replication"
    COORDINATOR = "coordinator"
    CLIENT = "client"
    RAFT_LEADER = "raft leader"


class AppendInfo(NamedTuple):
    """What became of an append. Times are ms since 1970, -1 for none."""

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    log_start_offset: int
    size_in_bytes: int
    duplicate: bool
