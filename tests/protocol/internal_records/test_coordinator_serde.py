"""Records of coordinators: encoding and decoding of every type and version; the errors for malformed bytes."""

import random
from contextlib import suppress

import pytest

from odradek.protocol.errors import ProtocolError, UnknownRecordError
from odradek.protocol.internal_records.coordinator_serde import (
    GROUP_RECORDS,
    SHARE_RECORDS,
    TRANSACTION_RECORDS,
    CoordinatorRecordSerde,
    CoordinatorRecordType,
    encode_key,
    encode_value,
    offset_commit_key,
    offset_commit_value,
    record_type_of,
)
from odradek.protocol.messages.group_records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from support.data.messages import random_message, seed_of
from support.data.mutated_records import damaged_bytes

SERDES = {"groups": GROUP_RECORDS, "transactions": TRANSACTION_RECORDS, "share": SHARE_RECORDS}
INSTANCES = 20
MUTATIONS = 60
EVERY_TYPE = [(name, record_type) for name, serde in SERDES.items() for record_type in serde.types]


def short(number: int) -> bytes:
    return number.to_bytes(2, "big", signed=True)


def test_the_types_are_those_of_kafkas_enum() -> None:
    named = {f"{one.name.replace('_', '')}KEY": one.value for one in CoordinatorRecordType}
    assert named == {key.NAME.upper(): number for number, (key, _) in GROUP_RECORDS.types.items()}


@pytest.mark.parametrize(("name", "record_type"), EVERY_TYPE)
def test_round_trip(name: str, record_type: int) -> None:
    serde = SERDES[name]
    key_class, value_class = serde.types[record_type]
    for instance in range(INSTANCES):
        key = random_message(key_class, 0, seed_of(name, record_type, instance))
        stored = encode_key(key)
        assert record_type_of(stored) == record_type
        assert serde.decode_key(stored) == key
        for version in range(value_class.VERSIONS[0], value_class.VERSIONS[1] + 1):
            value = random_message(value_class, version, seed_of(name, record_type, version, instance))
            assert serde.decode_value(record_type, encode_value(value, version)) == (value, version)


@pytest.mark.parametrize(("name", "record_type"), EVERY_TYPE)
def test_mutated_bytes_are_refused_in_words_or_read(name: str, record_type: int) -> None:
    serde = SERDES[name]
    key_class, value_class = serde.types[record_type]
    rng = random.Random(seed_of("mutated", name, record_type))
    refused = 0
    for instance in range(MUTATIONS):
        key = encode_key(random_message(key_class, 0, seed_of(name, record_type, instance)))
        version = rng.randint(*value_class.VERSIONS)
        value = encode_value(random_message(value_class, version, seed_of(name, record_type, instance)), version)
        refused += not reads(serde, record_type, damaged_bytes(rng, key), damaged_bytes(rng, value))
    assert refused >= MUTATIONS / 10


def reads(serde: CoordinatorRecordSerde, record_type: int, key: bytes, value: bytes) -> bool:
    """Whether key and value are decoded. The only other outcome is a ProtocolError."""
    try:
        serde.decode_key(key)
        read = serde.decode_value(record_type, value)
    except ProtocolError:
        return False
    with suppress(ProtocolError):  # because of tagged fields that can be read but not written, as in Kafka
        written = encode_value(*read)
        assert encode_value(*serde.decode_value(record_type, written)) == written
    return True


@pytest.mark.parametrize(
    ("key", "what", "is_unknown"),
    [
        (None, "The record has no key", False),
        (b"", "version from key's buffer: 0 bytes", False),
        (b"\0", "version from key's buffer: 1 bytes", False),
        (short(9), "Unknown record type 9", True),
        (short(18), "Unknown record type 18", True),
        (short(24), "Unknown record type 24", True),
        (short(-1), "Unknown record type -1", True),
        (short(2) + b"\0\x09ab", "the length is 9 bytes, only 2 are left", False),
        (short(2) + b"\0\2\xff\xff", "not valid UTF-8", False),
    ],
)
def test_a_key_that_is_refused(key: bytes | None, what: str, is_unknown: bool) -> None:
    with pytest.raises(ProtocolError, match=what) as raised:
        GROUP_RECORDS.decode_key(key)
    assert isinstance(raised.value, UnknownRecordError) is is_unknown


@pytest.mark.parametrize(
    ("record_type", "value", "what", "is_unknown"),
    [
        (1, b"", "version from value's buffer: 0 bytes", False),
        (1, b"\0", "version from value's buffer: 1 bytes", False),
        (1, short(5), "OffsetCommitValue has no version 5, only 0 to 4", True),
        (1, short(-1), "OffsetCommitValue has no version -1, only 0 to 4", True),
        (0, short(1), "LegacyOffsetCommitValue has no version 1, only 0 to 0", True),
        (99, short(0), "Unknown record type 99", True),
        (1, short(0) + bytes(7), "the bytes end", False),
        (2, short(3) + b"\0\1c" + bytes(16) + b"\x7f\xff\xff\xff", "array of 2147483647 elements", False),
    ],
)
def test_a_value_that_is_refused(record_type: int, value: bytes, what: str, is_unknown: bool) -> None:
    with pytest.raises(ProtocolError, match=what) as raised:
        GROUP_RECORDS.decode_value(record_type, value)
    assert isinstance(raised.value, UnknownRecordError) is is_unknown


def test_bytes_after_the_last_field_are_ignored() -> None:
    key, value = OffsetCommitKey("g", "t", 1), OffsetCommitValue(offset=5)
    assert GROUP_RECORDS.decode_key(encode_key(key) + b"!") == key
    assert GROUP_RECORDS.decode_value(1, encode_value(value, 4) + b"!") == (value, 4)


def test_legacy_offset_commits_in_todays_form() -> None:
    assert offset_commit_key(LegacyOffsetCommitKey("g", "t", 1)) == OffsetCommitKey("g", "t", 1)
    legacy = LegacyOffsetCommitValue(5, "note", 7)
    assert offset_commit_value(legacy) == OffsetCommitValue(5, metadata="note", commit_timestamp=7)
    today = OffsetCommitKey("g", "t", 1), OffsetCommitValue(5, 2)
    assert (offset_commit_key(today[0]), offset_commit_value(today[1])) == today
