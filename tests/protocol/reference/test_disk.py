"""The structures of a log directory, read from and written to the bytes that Apache Kafka 4.3.1 left on disk.

Captured: a transactional producer committed three records (first segment) and aborted three more (second segment).
"""

import pytest
from construct import Construct

from odradek.protocol.errors import ProtocolError
from odradek.protocol.reference import disk
from odradek.protocol.reference.wire import parse

COMMITTED_BATCH = bytes.fromhex(
    "0000000000000000"  # base offset
    "00000063"  # batch length
    "00000000"  # partition leader epoch
    "02"  # magic
    "66530e85"  # crc
    "0010"  # attributes: transactional
    "00000002"  # last offset delta
    "0000018bcfe56800"  # base timestamp
    "0000018bcfe56802"  # max timestamp
    "0000000000000000"  # producer id
    "0000"  # producer epoch
    "00000000"  # base sequence
    "00000003"  # records count
    "1e000000046b30010402680231026e01"
    "20000202046b3102760402680231026e01"
    "20000404046b3202760402680231026e01"
)
COMMIT_MARKER = bytes.fromhex(
    "0000000000000003000000420000000002a75ebfc8003000000000000001a1fde1f6b4000001a1fde1f6b4"
    "00000000000000000000ffffffff00000001" + "2000000008000000010c000000000000000000"
)
OFFSET_INDEX = bytes.fromhex("0000000100000076000000020000012000000003000001fc")
TIME_INDEX = bytes.fromhex("0000018bcfe56801000000010000018bcfe56802000000020000018bcfe5680300000003")
TRANSACTION_INDEX = bytes.fromhex("00000000000000000000000000000000000400000000000000070000000000000008")
OPEN_TRANSACTION_SNAPSHOT = bytes.fromhex(
    "00018a3730330000000100000000000000000000000000020000000000000002000000020000018bcfe56802ffffffff0000000000000000"
)


def test_batch_header_of_real_kafka() -> None:
    header = parse(disk.RECORD_BATCH_HEADER, COMMITTED_BATCH)
    assert disk.RECORD_BATCH_HEADER.sizeof() == 61
    assert header.batch_length == len(COMMITTED_BATCH) - 12
    assert (header.base_offset, header.last_offset_delta, header.records_count, header.magic) == (0, 2, 3, 2)
    assert (header.base_timestamp, header.max_timestamp) == (1700000000000, 1700000000002)
    assert header.crc == 0x66530E85
    assert header.attributes.is_transactional
    assert not header.attributes.is_control
    assert (str(header.attributes.compression), str(header.attributes.timestamp_type)) == ("NONE", "CREATE_TIME")
    assert disk.RECORD_BATCH_HEADER.build(header) == COMMITTED_BATCH[:61]


def test_control_batch_of_real_kafka() -> None:
    header = parse(disk.RECORD_BATCH_HEADER, COMMIT_MARKER)
    assert header.attributes.is_transactional
    assert header.attributes.is_control
    assert header.base_sequence == -1
    marker = parse(disk.RECORD, COMMIT_MARKER, position=61)
    assert marker.key == bytes.fromhex("00000001")


def test_records_of_real_kafka() -> None:
    position = 61
    records = []
    for _ in range(3):
        record = parse(disk.RECORD, COMMITTED_BATCH, position=position)
        assert disk.RECORD.build(record) == COMMITTED_BATCH[position : position + record.length + 1]
        position += record.length + 1
        records.append(record)
    assert position == len(COMMITTED_BATCH)
    assert [(r.offset_delta, r.timestamp_delta, r.key, r.value) for r in records] == [
        (0, 0, b"k0", None),
        (1, 1, b"k1", b"v"),
        (2, 2, b"k2", b"v"),
    ]
    assert [(h.key, h.value) for h in records[2].headers] == [("h", b"1"), ("n", None)]


def test_index_entries_of_real_kafka() -> None:
    offsets = disk.entries(disk.OFFSET_INDEX_ENTRY, OFFSET_INDEX)
    assert [(e.relative_offset, e.position) for e in offsets] == [(1, 118), (2, 288), (3, 508)]
    times = disk.entries(disk.TIME_INDEX_ENTRY, TIME_INDEX)
    assert [(e.timestamp, e.relative_offset) for e in times] == [(1700000000000 + i, i) for i in (1, 2, 3)]
    (aborted,) = disk.entries(disk.TRANSACTION_INDEX_ENTRY, TRANSACTION_INDEX)
    assert (aborted.version, aborted.producer_id) == (0, 0)
    assert (aborted.first_offset, aborted.last_offset, aborted.last_stable_offset) == (4, 7, 8)


@pytest.mark.parametrize(
    ("structure", "size"),
    [
        (disk.OFFSET_INDEX_ENTRY, 8),
        (disk.TIME_INDEX_ENTRY, 12),
        (disk.TRANSACTION_INDEX_ENTRY, 34),
        (disk.PRODUCER_SNAPSHOT_ENTRY, 46),
    ],
    ids=["offset", "time", "transaction", "producer"],
)
def test_an_entry_cut_short_is_refused(structure: Construct, size: int) -> None:
    assert structure.sizeof() == size
    assert len(disk.entries(structure, bytes(size * 2))) == 2
    for torn in range(1, size):
        with pytest.raises(ProtocolError):
            disk.entries(structure, bytes(size + torn))


def test_producer_snapshot_of_real_kafka() -> None:
    snapshot = parse(disk.PRODUCER_SNAPSHOT, OPEN_TRANSACTION_SNAPSHOT)
    assert (snapshot.version, snapshot.crc) == (1, 0x8A373033)
    (producer,) = snapshot.producer_entries
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (0, 0, 2)
    assert (producer.last_offset, producer.offset_delta, producer.timestamp) == (2, 2, 1700000000002)
    assert (producer.coordinator_epoch, producer.current_transaction_first_offset) == (-1, 0)
    assert disk.PRODUCER_SNAPSHOT.build(snapshot) == OPEN_TRANSACTION_SNAPSHOT


@pytest.mark.parametrize("length", range(len(OPEN_TRANSACTION_SNAPSHOT)))
def test_a_snapshot_cut_short_is_refused(length: int) -> None:
    with pytest.raises(ProtocolError):
        parse(disk.PRODUCER_SNAPSHOT, OPEN_TRANSACTION_SNAPSHOT[:length])
