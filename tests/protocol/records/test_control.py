"""Control records: keys, transaction markers and the batches that carry them."""

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import check_crc, read_header
from odradek.protocol.records.control import (
    ControlRecordType,
    EndTransactionMarker,
    control_record_key,
    control_record_type,
    encode_control_batch,
    encode_end_transaction_batch,
    end_transaction_marker,
    end_transaction_value,
)
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.record import decode_records


def test_keys_of_every_type() -> None:
    known = [t for t in ControlRecordType if t != ControlRecordType.UNKNOWN]
    assert [control_record_key(t).hex() for t in known] == [f"0000{i:04x}" for i in range(7)]
    assert [control_record_type(control_record_key(t)) for t in known] == known
    with pytest.raises(ValueError, match="UNKNOWN"):
        control_record_key(ControlRecordType.UNKNOWN)


def test_unknown_types_and_later_versions_are_read() -> None:
    assert control_record_type(bytes.fromhex("00000007")) is ControlRecordType.UNKNOWN
    assert control_record_type(bytes.fromhex("0000ffff")) is ControlRecordType.UNKNOWN
    assert control_record_type(bytes.fromhex("00050001ffff")) is ControlRecordType.COMMIT
    later = bytes.fromhex("000100000009abcd")
    assert end_transaction_marker(bytes.fromhex("00000000"), later) == (ControlRecordType.ABORT, 9)


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", bytes.fromhex("ffff0000")])
def test_malformed_keys(key: bytes | None) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        control_record_type(key)
    assert caught.value.error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("value", [None, b"", end_transaction_value(1)[:-1], b"\xff\xff" + bytes(4)])
def test_malformed_marker_values(value: bytes | None) -> None:
    with pytest.raises(InvalidRecordError):
        end_transaction_marker(control_record_key(ControlRecordType.COMMIT), value)


def test_other_control_records_are_no_markers() -> None:
    with pytest.raises(InvalidRecordError, match="LEADER_CHANGE"):
        end_transaction_marker(control_record_key(ControlRecordType.LEADER_CHANGE), end_transaction_value(1))


@pytest.mark.parametrize("record_type", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_a_marker_in_its_batch(record_type: ControlRecordType) -> None:
    marker = EndTransactionMarker(record_type, coordinator_epoch=7)
    batch = encode_end_transaction_batch(
        marker, timestamp=123, producer_id=3, producer_epoch=4, base_offset=5, partition_leader_epoch=2
    )
    header = read_header(batch)
    check_crc(batch, 0, header)
    assert (header.attributes, header.base_sequence, header.records_count) == (0x30, -1, 1)
    assert (header.producer_id, header.producer_epoch, header.partition_leader_epoch) == (3, 4, 2)
    record = decode_records(batch, header)[0]
    assert (record.offset, record.timestamp) == (5, 123)
    decoded = end_transaction_marker(record.key, record.value)
    assert decoded == marker
    assert decoded.is_commit == (record_type == ControlRecordType.COMMIT)


def test_the_first_batch_of_a_formatted_metadata_log() -> None:
    values = [bytes.fromhex("000000000000000000000000"), bytes.fromhex("0000000100")]
    batch = encode_control_batch(
        [(ControlRecordType.SNAPSHOT_HEADER, values[0]), (ControlRecordType.KRAFT_VERSION, values[1])],
        timestamp=1,
        base_offset=0,
        partition_leader_epoch=0,
    )
    header = read_header(batch)
    assert (header.attributes, header.producer_id, header.records_count) == (0x20, -1, 2)
    assert [(control_record_type(r.key).name, r.value) for r in decode_records(batch)] == [
        ("SNAPSHOT_HEADER", values[0]),
        ("KRAFT_VERSION", values[1]),
    ]
