"""Reads a partition of a coordinator's topic into a core.

Source: ``CoordinatorLoaderImpl``. Records of an unknown type are skipped and stay in the log. Raises
UnloadableRecordError if a record cannot be replayed, because a partition that is loaded in part must not be served.
"""

from collections.abc import Iterator
from typing import Any

from odradek.protocol.records.batch import BatchHeader, iterate_headers
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import Record, iterate_records

from .effects import NO_PRODUCER_ID
from .interfaces import CoordinatorCore, CoordinatorLog

SHOWN_BYTES = 40
"""The number of bytes of a record's key and of its value that an error shows."""


class UnloadableRecordError(Exception):
    """A record of the log cannot be replayed. The text names file, offset, record and reason."""


def load_steps(log: CoordinatorLog, core: CoordinatorCore[Any], now_ms: int) -> Iterator[int]:
    """Replays the log into the core. Yields the number of records read so far after each buffer.

    Raises UnloadableRecordError and the errors of reading the log.
    """
    records_count = 0
    for buffer in log.read_batches():
        for position, header in iterate_headers(buffer):
            records_count += _load_batch(log, core, now_ms, buffer, position, header)
        yield records_count


def _load_batch(
    log: CoordinatorLog,
    core: CoordinatorCore[Any],
    now_ms: int,
    buffer: bytes | memoryview,
    position: int,
    header: BatchHeader,
) -> int:
    """Replays one batch; returns the number of its records."""
    records_count = 0
    record: Record | None = None
    # Any record with a producer id is pending until its marker is read (CoordinatorLoaderImpl, batch.hasProducerId).
    producer_id = header.producer_id if header.has_producer_id else NO_PRODUCER_ID
    try:
        for record in iterate_records(buffer, header, position):
            records_count += 1
            if header.is_control:
                _replay_control(core, header.producer_id, record.key)
            else:
                core.load(record.key, record.value, record.offset, producer_id, now_ms)
    except Exception as error:
        # Any exception: a record can break a rule that no check covers, and then only this partition may stop
        # (CoordinatorLoaderImpl catches RuntimeException for the same reason).
        offset = header.base_offset if record is None else record.offset
        problem = f"{type(error).__name__}: {error}"
        raise UnloadableRecordError(f"{log.place_of(offset)}, offset {offset}, {_shown(record)}: {problem}") from error
    return records_count


def _shown(record: Record | None) -> str:
    """Describes a record in an error, in a bounded length."""
    if record is None:
        return "first record of a batch"
    return f"record with key {_cut(record.key)} and value {_cut(record.value)}"


def _cut(data: bytes | None) -> str:
    if data is None:
        return "null"
    return repr(bytes(data[:SHOWN_BYTES])) + ("..." if len(data) > SHOWN_BYTES else "")


def _replay_control(core: CoordinatorCore[Any], producer_id: int, key: bytes | None) -> None:
    record_type = control_record_type(key)
    if record_type in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        core.replay_end_transaction(producer_id, record_type is ControlRecordType.COMMIT)
