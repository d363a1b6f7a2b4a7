"""The file with the sums of one partition's closed segments: its form, and how it is read and written.

    odradek audit state 1\\n                     the version of the form
    <xxh3-64 of the rest, 16 hex digits>\\n
    <size of the JSON in bytes>\\n
    JSON                                        the basis, and the sums of each segment; an array is [type, size, parts]
    arrays                                      one after the other, each compressed with zlib

An array with few numbers that are not 0 is stored as their indexes and values. Nothing in the file is executed when it
is read. It is replaced as a whole, so a reader gets the old or the new one. Source: docs/audit.md.
"""

import json
import os
import uuid
import zlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

import numpy
import xxhash
from numpy.typing import NDArray

from ..directories.file_access import is_local, read_file
from .sums import (
    BatchSums,
    EpochRun,
    HeardFinding,
    OffsetPlace,
    PlacedKey,
    ProducerSpan,
    RecordSums,
    SegmentSums,
    TransactionPart,
    TransactionSums,
)

VERSION = 1
_MAGIC = b"odradek audit state "
_SPARSE = 8
_LEVEL = 1


class StateError(Exception):
    """A file of the state can't be used: it is damaged or of another version. The text says which."""


@dataclass(slots=True)
class StoredSums:
    """The sums of a partition's closed segments, by base offset.

    `basis`: what the sums depend on besides the bytes, such as the topic's id and policy. With another basis they are
    not used. `audited_ms`: when they were last written.
    """

    basis: str
    audited_ms: int = 0
    segments: dict[int, SegmentSums] = field(default_factory=dict)


def read_state(path: Path) -> StoredSums | None:
    """The state in a file; None if there is none. Raises StateError, OSError."""
    try:
        data = read_file(path)
    except FileNotFoundError:
        return None
    return decode_state(data)


def write_state(path: Path, state: StoredSums) -> None:
    """Replaces the file. Raises OSError."""
    replace_file(path, encode_state(state))


def replace_file(path: Path, data: bytes) -> None:
    """Writes a file or an object so that a reader gets all of the old bytes or all of the new ones. Raises OSError."""
    if not is_local(path):
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def encode_state(state: StoredSums) -> bytes:
    """The bytes of the file."""
    arrays: list[bytes] = []
    segments = [_segment(sums, arrays) for sums in state.segments.values()]
    text = json.dumps([state.basis, state.audited_ms, segments], separators=(",", ":")).encode()
    rest = b"%d\n" % len(text) + text + b"".join(arrays)
    return b"%s%d\n%s\n" % (_MAGIC, VERSION, xxhash.xxh3_64_hexdigest(rest).encode()) + rest


def decode_state(data: bytes) -> StoredSums:
    """The state in a file's bytes. Raises StateError."""
    head, _, after = data.partition(b"\n")
    if not head.startswith(_MAGIC):
        raise StateError("it is not a state of an audit")
    if head != b"%s%d" % (_MAGIC, VERSION):
        raise StateError(f"it has version {head[len(_MAGIC) :][:20].decode(errors='replace')}, not {VERSION}")
    digest, _, rest = after.partition(b"\n")
    if digest != xxhash.xxh3_64_hexdigest(rest).encode():
        raise StateError("its bytes do not have its checksum")
    size, _, body = rest.partition(b"\n")
    arrays = _Arrays(body, int(size))
    basis, audited_ms, segments = json.loads(body[: int(size)])
    found = [_sums_of(segment, arrays) for segment in segments]
    return StoredSums(basis, audited_ms, {sums.base_offset: sums for sums in found})


class _Arrays:
    """Takes the arrays of a file, in order."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = memoryview(data)
        self._position = position

    def next(self, described: list[Any]) -> NDArray[Any]:
        """The next array, as `_array` has described it."""
        kind, size, parts = described
        taken = []
        for dtype, length in parts:
            data = zlib.decompress(self._data[self._position : self._position + length])
            self._position += length
            taken.append(numpy.frombuffer(data, dtype))
        if len(taken) == 1:
            return taken[0].astype(kind)
        array = numpy.zeros(size, kind)
        array[taken[0]] = taken[1]
        return array


def _array(values: NDArray[Any], arrays: list[bytes]) -> list[Any]:
    """Adds an array to `arrays`. Returns [type, size, [[stored type, stored bytes] of each part]]."""
    used = numpy.flatnonzero(values)
    parts = [values] if len(used) * _SPARSE > len(values) or not len(values) else [used, values[used]]
    described = []
    for part in parts:
        small = part.astype(numpy.min_scalar_type(int(part.max()))) if len(part) and int(part.min()) >= 0 else part
        data = zlib.compress(small.tobytes(), _LEVEL)
        arrays.append(data)
        described.append([small.dtype.str, len(data)])
    return [values.dtype.str, len(values), described]


def _fields(row: Any) -> dict[str, Any]:
    return {item.name: getattr(row, item.name) for item in fields(row)}


def _segment(sums: SegmentSums, arrays: list[bytes]) -> dict[str, Any]:
    found = _fields(sums)
    found["batches"] = _fields(sums.batches)
    found["transactions"] = _fields(sums.transactions) | {
        "heads": [_fields(part) for part in sums.transactions.heads.values()],
        "tails": [_fields(part) for part in sums.transactions.tails.values()],
        "transactional": list(sums.transactions.transactional),
        "plain": list(sums.transactions.plain.items()),
        "ends": list(sums.transactions.ends.items()),
    }
    records = sums.records
    if records is not None:
        found["records"] = _fields(records) | {
            "buckets": _array(records.buckets.reshape(-1), arrays),
            "bits": _array(numpy.packbits(records.bits), arrays),
            "clean_hashes": _array(records.clean_hashes, arrays),
            "placed": None if records.placed is None else [(number, key.hex()) for number, key in records.placed],
        }
    return found


def _sums_of(found: dict[str, Any], arrays: _Arrays) -> SegmentSums:
    batches, transactions, records = found["batches"], found["transactions"], found["records"]
    gap = batches["first_gap"]
    batches |= {
        "first_gap": None if gap is None else OffsetPlace(*gap),
        "volume": {int(day): numbers for day, numbers in batches["volume"].items()},
        "epochs": [EpochRun(*run) for run in batches["epochs"]],
    }
    parts = {
        name: {part["producer_id"]: TransactionPart(**part) for part in transactions[name]}
        for name in ("heads", "tails")
    }
    transactions |= {
        **parts,
        "transactional": dict.fromkeys(transactions["transactional"]),
        "plain": {producer_id: OffsetPlace(*place) for producer_id, place in transactions["plain"]},
        "ends": dict(transactions["ends"]),
    }
    if records is not None:
        placed = records["placed"]
        records |= {
            "buckets": arrays.next(records["buckets"]).reshape(2, -1),
            "bits": numpy.unpackbits(arrays.next(records["bits"])),
            "clean_hashes": arrays.next(records["clean_hashes"]),
            "placed": None if placed is None else [PlacedKey(number, bytes.fromhex(key)) for number, key in placed],
        }
    return SegmentSums(
        **found
        | {
            "found": [HeardFinding(*heard) for heard in found["found"]],
            "batches": BatchSums(**batches),
            "transactions": TransactionSums(**transactions),
            "producers": [ProducerSpan(*span) for span in found["producers"]],
            "records": None if records is None else RecordSums(**cast(dict[str, Any], records)),
        }
    )
