"""Subscriptions and assignments of the classic consumer protocol: encoding, decoding, newer versions, damaged bytes."""

import random

import pytest

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.consumer_protocol import decode_embedded, embedded_version, encode_embedded
from odradek.protocol.messages.group_records import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from support.data.messages import random_message, seed_of
from support.data.mutated_records import damaged_bytes


@pytest.mark.parametrize("cls", [ConsumerProtocolAssignment, ConsumerProtocolSubscription])
@pytest.mark.parametrize("version", range(4))
def test_round_trip(cls: type[ConsumerProtocolAssignment] | type[ConsumerProtocolSubscription], version: int) -> None:
    rng = random.Random(version)
    refused = 0
    for instance in range(50):
        message = random_message(cls, version, seed_of(cls.NAME, version, instance))
        assert isinstance(message, cls)
        data = encode_embedded(message, version)
        assert embedded_version(data) == version
        assert decode_embedded(cls, data) == message
        try:
            decode_embedded(cls, damaged_bytes(rng, data))
        except ProtocolError:
            refused += 1
    assert 0 < refused < 50


def test_a_newer_version_is_read_as_the_newest_known() -> None:
    newest = ConsumerProtocolSubscription(topics=["t"], generation_id=7, rack_id="r")
    data = b"\0\x09" + encode_embedded(newest, 3)[2:] + b"fields of version 9"
    assert (embedded_version(data), decode_embedded(ConsumerProtocolSubscription, data)) == (3, newest)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "0 bytes"),
        (b"\0", "1 bytes"),
        (b"\xff\xff", "version -1"),
        (b"\0\0\x7f\xff\xff\xff", "array of 2147483647"),
    ],
)
def test_what_is_refused(data: bytes, what: str) -> None:
    with pytest.raises(ProtocolError, match=what):
        decode_embedded(ConsumerProtocolAssignment, data)
