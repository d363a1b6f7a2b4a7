"""The place of a record. Pure."""

from typing import NamedTuple


class RecordPlace(NamedTuple):
    """The place of a record: file, position of its batch in bytes, offset."""

    file: str
    position: int
    offset: int
