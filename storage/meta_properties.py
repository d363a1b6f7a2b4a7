"""meta.properties of a log directory, version 1 (being filled in)."""

from typing import NamedTuple


class MetaProperties(NamedTuple):
    """Whose directory this is. `directory_id`: 16 bytes."""

    cluster_id: str
    node_id: int
    directory_id: bytes
