"""Damage in the bytes of a log: a value that jobs turn into rows and findings, never an exception."""

from enum import StrEnum
from typing import NamedTuple


class DamageKind(StrEnum):
    """The kinds of damage that reading a segment can meet; the values are names of findings."""

    CRC = "batch-crc-mismatch"
    LENGTH = "batch-length-invalid"
    MAGIC = "batch-magic-unknown"
    INCOMPLETE = "batch-incomplete"
    RECORDS = "records-malformed"
    UNREADABLE = "file-unreadable"
    TOO_LARGE = "batch-too-large"
    ZEROS = "zero-tail"
    """Zeros up to the end of what is read: preallocated space, or what a power cut left. Jobs decide what it means."""


class Damage(NamedTuple):
    """Damage at a place: bytes from `position` of the file on, `size` of them (all that can't be read)."""

    kind: DamageKind
    position: int
    size: int
    base_offset: int
    """The offset that the batch says it begins with; -1 where even that can't be read."""
    message: str
