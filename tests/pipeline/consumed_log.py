"""The records that a consumer gets from a log: our storage's reads, and the rules of Kafka's CompletedFetch."""

from typing import NamedTuple

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import decode_records
from odradek.storage.log.log import Log
from support.data.log_model import data_of


class ConsumedRecord(NamedTuple):
    """A record, without its headers."""

    offset: int
    key: bytes | None
    value: bytes | None


def consumed(log: Log, *, is_committed: bool) -> list[ConsumedRecord]:
    """All records from the log start on, up to the end or to the last stable offset."""
    end = log.last_stable_offset if is_committed else log.log_end_offset
    offset = log.log_start_offset
    aborted = log.aborted_transactions(offset, end) if is_committed else []
    left = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
    aborting: set[int] = set()
    found: list[ConsumedRecord] = []
    while offset < end:
        first = offset
        data = data_of(log.read(offset, 1 << 20).data)
        for position, header in iterate_headers(data):
            if header.base_offset >= end:
                return found
            offset = header.next_offset
            while left and left[-1].first_offset <= header.last_offset:
                aborting.add(left.pop().producer_id)
            records = decode_records(data, header, position)
            if header.is_control:
                if records and control_record_type(records[0].key) is ControlRecordType.ABORT:
                    aborting.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborting):
                found += [ConsumedRecord(one.offset, one.key, one.value) for one in records if one.offset >= first]
    return found
