"""Groups and committed offsets out of the records of ``__consumer_offsets``.

Keeps the latest record of each key, decodes those only. Records of a transaction count once it is committed. Source:
Kafka's GroupCoordinatorRecordSerde, CoordinatorRecordType; the message table.
"""

from struct import Struct
from typing import Any

from ....protocol.codec import decode
from ....protocol.errors import ProtocolError
from ....protocol.messages.group_records import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from ...decode.batch_table import BatchTable
from ...decode.records import DecodedRecords
from ..tasks import Commit, GroupFacts, PartitionReport

_INT16 = Struct(">h")
_OFFSET_KEYS = (0, 1)
_GROUP_KEY, _CONSUMER_GROUP_KEY, _CONSUMER_MEMBER_KEY = 2, 3, 5
_KNOWN_KEYS = range(24)
_KEY_VERSION = 0

Latest = dict[bytes, tuple[int, bytes | None]]


class GroupRecords:
    """The latest records of one partition of the offsets topic."""

    def __init__(self) -> None:
        self._latest: Latest = {}
        self._transactional: list[tuple[int, int, bytes, bytes | None]] = []

    def read(self, chunk: BatchTable, item: DecodedRecords) -> None:
        """Takes in decoded records."""
        attributes = chunk.column("attributes")[item.batches].tolist()
        producers = chunk.column("producer_id")[item.batches].tolist()
        columns = item.columns
        for offset, key, value, flags, producer_id in zip(
            columns.column("offset").to_pylist(),
            columns.column("key").to_pylist(),
            columns.column("value").to_pylist(),
            attributes,
            producers,
            strict=True,
        ):
            if key is None or flags & 0x20:
                continue
            if flags & 0x10:
                self._transactional.append((producer_id, offset, key, value))
            else:
                self._put(offset, key, value)

    def _put(self, offset: int, key: bytes, value: bytes | None) -> None:
        if self._latest.get(key, (-1, None))[0] < offset:
            self._latest[key] = (offset, value)

    def finish(self, report: PartitionReport, outcomes: dict[int, list[tuple[int, bool]]]) -> None:
        """Writes groups and commits into the report; `outcomes` are the markers of the partition."""
        for producer_id, offset, key, value in self._transactional:
            ended = next((is_commit for marker, is_commit in outcomes.get(producer_id, []) if marker > offset), False)
            if ended:
                self._put(offset, key, value)
        place = f"{report.directory}/{report.topic}-{report.partition}"
        members: dict[str, int] = {}
        modern: set[str] = set()
        for key, (offset, value) in self._latest.items():
            if value is None:
                continue
            kind = _INT16.unpack_from(key)[0] if len(key) >= _INT16.size else -1
            try:
                if kind in _OFFSET_KEYS:
                    report.commits.append(_commit(key, value, offset))
                elif kind == _GROUP_KEY:
                    report.groups.append(_group(key, value))
                elif kind == _CONSUMER_GROUP_KEY:
                    modern.add(decode(ConsumerGroupMetadataKey, _KEY_VERSION, key, _INT16.size)[0].group_id)
                elif kind == _CONSUMER_MEMBER_KEY:
                    group = decode(ConsumerGroupMemberMetadataKey, _KEY_VERSION, key, _INT16.size)[0].group_id
                    members[group] = members.get(group, 0) + 1
                elif kind not in _KNOWN_KEYS:
                    detail = f"the key of the record at offset {offset} has type {kind}"
                    report.add("group-record-type-unknown", place, detail, offset=offset)
            except ProtocolError as error:
                detail = f"the record at offset {offset}: {error}"
                report.add("group-record-undecodable", place, detail, offset=offset)
        for group in sorted(modern):
            report.groups.append(GroupFacts(group, "consumer", -1, members.get(group, 0)))


def _versioned(cls: Any, value: bytes) -> Any:
    """The message behind a version. Raises ProtocolError for a version that is not known, too."""
    if len(value) < _INT16.size:
        raise ProtocolError(f"{cls.NAME}: {len(value)} bytes")
    version = _INT16.unpack_from(value)[0]
    lowest, highest = cls.VERSIONS
    if not lowest <= version <= highest:
        raise ProtocolError(f"{cls.NAME}: version {version}, only {lowest} to {highest} are known")
    return decode(cls, version, value, _INT16.size)[0]


def _commit(key: bytes, value: bytes, record_offset: int) -> Commit:
    where = decode(OffsetCommitKey, _KEY_VERSION, key, _INT16.size)[0]
    what = _versioned(OffsetCommitValue, value)
    return Commit(
        where.group, where.topic, where.partition, what.offset, what.metadata, what.commit_timestamp, record_offset
    )


def _group(key: bytes, value: bytes) -> GroupFacts:
    name = decode(GroupMetadataKey, _KEY_VERSION, key, _INT16.size)[0].group
    what = _versioned(GroupMetadataValue, value)
    return GroupFacts(name, what.protocol_type, what.generation, len(what.members))
