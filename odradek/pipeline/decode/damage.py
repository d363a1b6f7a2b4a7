"""Describes damage in the bytes of a log. Damage is a value, never an exception; jobs make rows or findings of it."""

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
    """Zeros up to the end of the file: preallocated space, or the result of a power cut. Jobs decide which."""


class Damage(NamedTuple):
    """Damage in the `size` bytes of the file from `position` on: all bytes that can't be read."""

    kind: DamageKind
    position: int
    size: int
    base_offset: int
    """The base offset in the batch's header; -1 if it can't be read."""
    message: str
