"""Reads a partition of a coordinator's topic into a core.

Source: ``CoordinatorLoaderImpl``. Records of protocols that we do not serve stay in the log and are skipped. Raises
ProtocolError or KafkaError where the log is broken: nothing is served from half a partition.
"""

from collections.abc import Iterator
from typing import Any

from ...protocol.records.batch import iterate_headers
from ...protocol.records.control import ControlRecordType, control_record_type
from ...protocol.records.record import iterate_records
from ..effects import NO_PRODUCER_ID
from .interfaces import CoordinatorCore, CoordinatorLog


def load_steps(log: CoordinatorLog, core: CoordinatorCore[Any], now_ms: int) -> Iterator[int]:
    """Replays the log into the core; after each buffer yields how many records have been read so far."""
    records_count = 0
    for buffer in log.read_batches():
        for position, header in iterate_headers(buffer):
            producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
            for record in iterate_records(buffer, header, position):
                records_count += 1
                if header.is_control:
                    _replay_control(core, header.producer_id, record.key)
                elif record.key is not None:
                    core.load(record.key, record.value, record.offset, producer_id, now_ms)
        yield records_count


def _replay_control(core: CoordinatorCore[Any], producer_id: int, key: bytes | None) -> None:
    record_type = control_record_type(key)
    if record_type in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        core.replay_end_transaction(producer_id, record_type is ControlRecordType.COMMIT)
