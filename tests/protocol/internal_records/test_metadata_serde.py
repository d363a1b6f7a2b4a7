"""Records of the metadata log: encoding and decoding of every type and version; the errors for malformed bytes."""

import random
from contextlib import suppress

import pytest

from odradek.protocol.codec import encode
from odradek.protocol.codec.runtime import unsigned_varint
from odradek.protocol.errors import ProtocolError, UnknownRecordError
from odradek.protocol.internal_records.metadata_serde import (
    METADATA_RECORDS,
    REMOTE_LOG_RECORDS,
    encode_record,
    frame_of,
)
from odradek.protocol.messages.metadata_records import TopicRecord
from support.data.messages import random_message, seed_of
from support.data.mutated_records import damaged_bytes

SERDES = {"metadata": METADATA_RECORDS, "remote log": REMOTE_LOG_RECORDS}
INSTANCES = 20
MUTATIONS = 100
EVERY_TYPE = [(name, record_type) for name, serde in SERDES.items() for record_type in serde.types]
TOPIC = encode(TopicRecord("t"), 0)


@pytest.mark.parametrize(("name", "record_type"), EVERY_TYPE)
def test_round_trip(name: str, record_type: int) -> None:
    cls = SERDES[name].types[record_type]
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        for instance in range(INSTANCES):
            record = random_message(cls, version, seed_of(name, record_type, version, instance))
            value = encode_record(record, version)
            assert frame_of(value) == (record_type, version, 3)
            assert SERDES[name].decode(value) == (record, version)


@pytest.mark.parametrize("value", [b"\x81\0\2\0", b"\1\x82\0\0", b"\1\2\x80\0", b"\x81\x80\0\x82\x80\x80\0\x80\x80\0"])
def test_numbers_may_have_more_bytes_than_they_need(value: bytes) -> None:
    assert METADATA_RECORDS.decode(value + TOPIC) == (TopicRecord("t"), 0)
    assert frame_of(value + TOPIC) == (2, 0, len(value))


@pytest.mark.parametrize(("name", "record_type"), EVERY_TYPE)
def test_mutated_bytes_are_refused_in_words_or_read(name: str, record_type: int) -> None:
    serde = SERDES[name]
    cls = serde.types[record_type]
    rng = random.Random(seed_of("mutated", name, record_type))
    refused = 0
    for instance in range(MUTATIONS):
        version = rng.randint(*cls.VERSIONS)
        value = encode_record(random_message(cls, version, seed_of(name, record_type, instance)), version)
        try:
            read = serde.decode(damaged_bytes(rng, value))
        except ProtocolError:
            refused += 1
            continue
        with suppress(ProtocolError):  # because of tagged fields that can be read but not written, as in Kafka
            written = encode_record(*read)
            assert encode_record(*serde.decode(written)) == written
    assert refused >= MUTATIONS / 4


@pytest.mark.parametrize(
    ("value", "what", "is_unknown"),
    [
        (None, "the metadata record has no value", False),
        (b"", "Error while reading frame version: the value ends", False),
        (b"\1", "Error while reading type: the value ends", False),
        (b"\1\x14", "Error while reading version: the value ends", False),
        (b"\1\x94", "Error while reading type: the value ends", False),
        (b"\0\x14\0\0", "unknown frame version 0", False),
        (b"\2\x14\0\0", "unknown frame version 2", False),
        (b"\1\x63\0\0", "Unknown metadata id 99", True),
        (b"\1" + unsigned_varint(200) + b"\0\0", "Unknown metadata id 200", True),
        (b"\1" + unsigned_varint(0x7FFF) + b"\0\0", "Unknown metadata id 32767", True),
        (b"\1" + unsigned_varint(0x8000) + b"\0\0", "Value for type was too large: 32768", False),
        (b"\1\2" + unsigned_varint(0x10000), "Value for version was too large: 65536", False),
        (b"\1\xff\xff\xff\xff\xff\1", "Error while reading type: a varint is longer than 5 bytes", False),
        (b"\1\x14\1\0", "NoOpRecord has no version 1, only 0 to 0", True),
        (b"\1\x14\0\0\0", r"Found 1 byte\(s\) of garbage after 20", False),
        (b"\1\2\0\x09ab", "the length is 8 bytes, only 2 are left", False),
        (b"\1\3\0" + bytes(20) + b"\xff\xff\xff\xff\x07", "array of 2147483646 elements", False),
    ],
)
def test_a_value_that_is_refused(value: bytes | None, what: str, is_unknown: bool) -> None:
    with pytest.raises(ProtocolError, match=what) as raised:
        METADATA_RECORDS.decode(value)
    assert isinstance(raised.value, UnknownRecordError) is is_unknown
