"""Records and bytes in the offsets topic by group and cause, from the counts of each key.

Pure.
"""

from collections.abc import Mapping

from odradek.protocol.records.record import Record

from ...tables.group_messages import commit_key, group_message
from .facts import GroupGrowth
from .record_store import KeyRecords

UNKNOWN_GROUP = ""
"""The group of records whose key can't be decoded."""


def growth_of(offsets_partition: int, keys: Mapping[bytes, KeyRecords]) -> list[GroupGrowth]:
    """The records of each group in a partition, the largest dirty part first."""
    by_group: dict[str, GroupGrowth] = {}
    for key, records in keys.items():
        message = group_message(Record(0, 0, key, None, []))
        name = message.group or UNKNOWN_GROUP
        growth = by_group.setdefault(name, GroupGrowth(name, offsets_partition))
        counts = records.counts
        written = counts.records - counts.tombstones
        growth.tombstones += counts.tombstones
        growth.bytes += counts.bytes
        growth.dirty_records += counts.dirty_records
        growth.dirty_bytes += counts.dirty_bytes
        if not message.is_offset_commit or message.key is None:
            growth.group_records += written
            continue
        growth.commits += written
        if written > growth.busiest_commits:
            _, growth.busiest_topic, growth.busiest_partition = commit_key(message.key)
            growth.busiest_commits = written
            growth.busiest_ms = counts.last_timestamp - counts.first_timestamp
    dirty = sum(growth.dirty_bytes for growth in by_group.values())
    for growth in by_group.values():
        growth.dirty_share = growth.dirty_bytes / dirty if dirty else 0.0
    return sorted(by_group.values(), key=lambda growth: (-growth.dirty_bytes, growth.group))
