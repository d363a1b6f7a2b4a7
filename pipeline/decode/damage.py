"""Damage in the bytes of a log, as a value. Jobs turn it into rows and findings; it is never an exception."""

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
    """Damage in the `size` bytes of the file from `position` on: all bytes that can't be read."""

    kind: DamageKind
    position: int
    size: int
    base_offset: int
    """The offset that the batch says it begins with; -1 where even that can't be read."""
    message: str
