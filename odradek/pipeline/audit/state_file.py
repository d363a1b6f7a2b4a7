"""The file with the sums of one partition's closed segments: its form, and how it is read and written.

    odradek audit state 2\\n                     the version of the form
    <xxh3-64 of the rest, 16 hex digits>\\n
    <size of the JSON in bytes>\\n
    JSON                                        the basis, and the sums of each segment; an array is [type, size, parts]
    arrays                                      one after the other (packed_arrays.py)

Nothing in the file is executed when it
is read. It is replaced as a whole, so a reader gets the old or the new one. Source: docs/audit.md.
"""

import json
import os
import uuid
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

import xxhash

from ..directories.file_access import is_local, read_file
from .packed_arrays import PackedArray, as_described
from .replica_points import SegmentPoints
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

VERSION = 2
_MAGIC = b"odradek audit state "


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
    arrays = _Bytes(body, int(size))
    basis, audited_ms, segments = json.loads(body[: int(size)])
    found = [_sums_of(segment, arrays) for segment in segments]
    return StoredSums(basis, audited_ms, {sums.base_offset: sums for sums in found})


class _Bytes:
    """Takes the bytes of arrays, one after the other."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def take(self, size: int) -> bytes:
        """The next bytes."""
        self._position += size
        return self._data[self._position - size : self._position]


def _array(values: PackedArray, arrays: list[bytes]) -> list[Any]:
    """Adds the bytes of an array to `arrays`. Returns what describes it."""
    arrays += [part.data for part in values.parts]
    return values.described()


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
    points, records = sums.points, sums.records
    if points is not None:
        found["points"] = _fields(points) | {
            "offsets": _array(points.offsets, arrays),
            "sums": _array(points.sums, arrays),
        }
    if records is not None:
        found["records"] = _fields(records) | {
            "buckets": _array(records.buckets, arrays),
            "bits": _array(records.bits, arrays),
            "clean_hashes": _array(records.clean_hashes, arrays),
            "placed": None if records.placed is None else [(number, key.hex()) for number, key in records.placed],
        }
    return found


def _sums_of(found: dict[str, Any], arrays: _Bytes) -> SegmentSums:
    batches, transactions = found["batches"], found["transactions"]
    points, records = found["points"], found["records"]
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
    if points is not None:
        points |= {name: as_described(points[name], arrays.take) for name in ("offsets", "sums")}
    if records is not None:
        placed = records["placed"]
        records |= {
            "buckets": as_described(records["buckets"], arrays.take),
            "bits": as_described(records["bits"], arrays.take),
            "clean_hashes": as_described(records["clean_hashes"], arrays.take),
            "placed": None if placed is None else [PlacedKey(number, bytes.fromhex(key)) for number, key in placed],
        }
    return SegmentSums(
        **found
        | {
            "found": [HeardFinding(*heard) for heard in found["found"]],
            "batches": BatchSums(**batches),
            "transactions": TransactionSums(**transactions),
            "producers": [ProducerSpan(*span) for span in found["producers"]],
            "points": None if points is None else SegmentPoints(**points),
            "records": None if records is None else RecordSums(**cast(dict[str, Any], records)),
        }
    )
