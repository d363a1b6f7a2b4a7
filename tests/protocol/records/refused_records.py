"""The records of a batch that a topic refuses, by the rules and the decoding of the broker."""

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.record_facts import iterate_facts
from odradek.protocol.records.validation import RecordRules, RefusedRecord


def refused_records(
    batch: bytes,
    header: BatchHeader,
    *,
    is_compacted: bool,
    is_log_append_time: bool,
    now_ms: int,
    before_max_ms: int,
    after_max_ms: int,
) -> list[RefusedRecord]:
    """The refused records, without those that `accepted_times` accepts."""
    rules = RecordRules(
        is_compacted, is_log_append_time, header.is_log_append_time, now_ms, before_max_ms, after_max_ms
    )
    lowest, highest = rules.accepted_times()
    refused = []
    for index, (offset, timestamp, has_key) in enumerate(iterate_facts(batch, header)):
        found = rules.check(index, offset, timestamp, has_key)
        if found is not None:
            assert (is_compacted and not has_key) or not lowest <= timestamp <= highest, "skipped by the broker"
            refused.append(found)
    return refused
