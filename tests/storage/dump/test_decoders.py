"""Records of internal topics are decoded; those that cannot be decoded get a message."""

import pytest

from odradek.protocol.codec import encode
from odradek.protocol.messages import FAMILIES, message_class
from odradek.protocol.messages.group_records import (
    ConsumerGroupMemberMetadataValue,
    ConsumerProtocolSubscription,
    GroupMetadataValue,
)
from odradek.protocol.messages.metadata_records import TopicRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.record import Record
from odradek.storage.dump import decoders
from odradek.storage.dump.decoders import Decoded, Tombstone, Typed
from odradek.storage.dump.embedded import data_document
from support.data.messages import random_message, seed_of

COORDINATORS = {
    "group_records": decoders.group_record,
    "transaction_records": decoders.transaction_record,
    "share_records": decoders.share_record,
}
METADATA = {"metadata_records": decoders.metadata_record, "remote_log_records": decoders.remote_log_record}


def short(number: int) -> bytes:
    return number.to_bytes(2, "big", signed=True)


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(5, 0, key, value, [])


KEYS = [(name, family) for name, family in FAMILIES.items() if family in COORDINATORS and name.endswith("Key")]


@pytest.mark.parametrize(("name", "family"), KEYS)
def test_every_record_type_of_the_coordinators(name: str, family: str) -> None:
    key_class, value_class = message_class(name), message_class(name.removesuffix("Key") + "Value")
    key = random_message(key_class, 0, seed_of(name))
    key_bytes = short(key_class.API_KEY) + encode(key, 0)
    for version in range(value_class.VERSIONS[0], value_class.VERSIONS[1] + 1):
        value = random_message(value_class, version, seed_of(name, version))
        found = COORDINATORS[family](record(key_bytes, short(version) + encode(value, version)))
        assert found == Decoded(Typed(key, key_class.API_KEY, 0), Typed(value, key_class.API_KEY, version))
    assert COORDINATORS[family](record(key_bytes, None)) == Decoded(Typed(key, key_class.API_KEY, 0), Tombstone())


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family in METADATA])
def test_every_metadata_record(name: str) -> None:
    cls = message_class(name)
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        made: Message = random_message(cls, version, seed_of(name, version))
        data = bytes([1, cls.API_KEY, version]) + encode(made, version)
        found = METADATA[FAMILIES[name]](record(None, data))
        assert found == Decoded(None, Typed(made, cls.API_KEY, version))


@pytest.mark.parametrize(
    ("key", "value", "fault", "is_corrupt"),
    [
        (None, b"", "has no key", True),
        (b"\0", b"", "version from key's buffer", True),
        (short(99), b"", "Unknown record type 99 at offset 5, skipping.", False),
        (short(2) + b"\0\x09ab", b"", "Error at offset 5, skipping.", True),
        (short(2) + b"\0\1g", b"\0", "version from value's buffer", True),
        (short(2) + b"\0\1g", short(99), "has no version 99", True),
    ],
)
def test_a_fault_in_a_group_record(key: bytes | None, value: bytes, fault: str, is_corrupt: bool) -> None:
    found = decoders.group_record(record(key, value))
    assert found.fault is not None
    assert fault in found.fault
    assert found.is_corrupt is is_corrupt


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, "has no value"),
        (b"", "frame version: the value ends"),
        (b"\0\2\0", "unknown frame version 0"),
        (b"\1\x7f\0", "Unknown metadata id 127"),
        (b"\1\xff\xff\x7f\0", "too large"),
        (b"\1\xff\xff\xff\xff\xff\xff", "longer than 5 bytes"),
        (b"\1\2\0" + encode(TopicRecord(name="t"), 0) + b"!", "Found 1 byte(s) of garbage after 2"),
    ],
)
def test_a_fault_in_a_metadata_record(value: bytes | None, fault: str) -> None:
    found = decoders.metadata_record(record(None, value))
    assert found.fault is not None
    assert fault in found.fault
    assert found.is_corrupt


def test_subscriptions_are_decoded_deeper_than_kafka_does() -> None:
    metadata = short(1) + encode(ConsumerProtocolSubscription(topics=["t"]), 1)
    protocol = ConsumerGroupMemberMetadataValue.ClassicProtocol("range", metadata)
    classic = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata(45_000, [protocol])
    typed = Typed(ConsumerGroupMemberMetadataValue(classic_member_metadata=classic), 5, 0)
    (shown,) = data_document(typed, deeper=True)["classicMemberMetadata"]["supportedProtocols"]
    assert shown == {"name": "range", "metadata": {"topics": ["t"], "userData": None, "ownedPartitions": []}}
    (shown,) = data_document(typed, deeper=False)["classicMemberMetadata"]["supportedProtocols"]
    assert isinstance(shown["metadata"], str)


@pytest.mark.parametrize("subscription", [b"", b"\0", b"\xff\xff", b"\0\0\0\0\0\5x"])
def test_bytes_that_are_no_subscription_stay_bytes(subscription: bytes) -> None:
    member = GroupMetadataValue.MemberMetadata(member_id="m", subscription=subscription, assignment=b"")
    typed = Typed(GroupMetadataValue(protocol_type="consumer", members=[member]), 2, 3)
    (shown,) = data_document(typed, deeper=False)["members"]
    assert isinstance(shown["subscription"], str)
