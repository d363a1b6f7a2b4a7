"""Records for the internal topics that no broker writes: well-formed ones with random values, and damaged ones.

    records = MutatedRecords(random.Random(seed), OFFSETS)
    key, value = records.next()

Keys have only a few ids, so that several records are of the same group or transactional id. Values are random
messages of Kafka's own table (boundaries of integers, nulls, duplicates). A third of the records is then
damaged: bytes are flipped, cut off, added, or exchanged with those of another type, or the version is changed.
"""

import random
import struct
from collections.abc import Callable, Sequence

from odradek.protocol.codec import encode
from odradek.protocol.messages import group_records, message_class, metadata_records
from odradek.protocol.messages.group_records import (
    ConsumerProtocolSubscription,
    GroupMetadataValue,
    OffsetCommitKey,
    StreamsGroupTopologyValue,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from support.data.messages import MessageGenerator

GROUPS = tuple(f"g{index}" for index in range(8))
MEMBERS = ("m0", "m1", "m2")
TOPICS = ("t", "u", "gone")
TRANSACTIONAL_IDS = tuple(f"x{index}" for index in range(8))
INT32S = (-(2**31), -1, 0, 1, 2, 2**31 - 1)
POOL = 60
"""The number of values of each type. More would take longer and find no more."""
DAMAGED = 0.3
TOMBSTONES = 0.1

Pair = tuple[bytes | None, bytes | None]
_INT16 = struct.Struct(">h")


def _versioned(version: int, message: Message) -> bytes:
    return _INT16.pack(version) + encode(message, version)


def subscription(rng: random.Random) -> bytes:
    """A consumer's subscription as clients write it."""
    version = rng.randrange(4)
    message = ConsumerProtocolSubscription(topics=rng.sample(TOPICS, rng.randrange(3)))
    return _versioned(version, message)


class _Type:
    """One type of record, with keys and values in stored form."""

    def __init__(self, keys: list[bytes], values: list[bytes]) -> None:
        self.keys = keys
        self.values = values


def group_types(rng: random.Random) -> list[_Type]:
    """The record types of ``__consumer_offsets``."""
    generator = MessageGenerator(rng, unknown_tags=False)
    by_type = {
        cls.API_KEY: cls
        for name, cls in vars(group_records).items()
        if name.endswith("Key") and isinstance(cls, type) and issubclass(cls, Message)
    }
    types = []
    for record_type, key_class in sorted(by_type.items()):
        value_class = message_class(f"{key_class.__name__.removesuffix('Key')}Value")
        keys = [_INT16.pack(record_type) + encode(_group_key(key_class, rng), 0) for _ in range(POOL)]
        values = [_group_value(value_class, generator, rng) for _ in range(POOL)]
        types.append(_Type(keys, values))
    return types


def _group_key(cls: type[Message], rng: random.Random) -> Message:
    key = cls()
    for attribute, choices in (
        ("group", GROUPS),
        ("group_id", GROUPS),
        ("member_id", MEMBERS),
        ("topic", TOPICS),
        ("partition", INT32S),
        ("regular_expression", ("t.*", "((", "")),
    ):
        if hasattr(key, attribute):
            setattr(key, attribute, rng.choice(choices))
    assert isinstance(key, OffsetCommitKey) or hasattr(key, "group") or hasattr(key, "group_id")
    return key


def _group_value(cls: type[Message], generator: MessageGenerator, rng: random.Random) -> bytes:
    version = rng.randint(*cls.VERSIONS)
    value = generator.message(cls, version)
    if isinstance(value, GroupMetadataValue):
        for member in value.members:
            if rng.random() < 0.7:
                member.member_id = rng.choice(MEMBERS)
                member.subscription = subscription(rng)
        if rng.random() < 0.7:
            value.protocol_type, value.protocol = "consumer", "range"
            value.leader = rng.choice(MEMBERS)
    if hasattr(value, "subscribed_topic_names") and rng.random() < 0.7:
        value.subscribed_topic_names = rng.sample(TOPICS, rng.randrange(3))
    if hasattr(value, "topic_partitions") and rng.random() < 0.7:
        for topic in value.topic_partitions:
            topic.topic_id = rng.choice((b"t" * 16, b"u" * 16))
    if isinstance(value, StreamsGroupTopologyValue):
        for each in value.subtopologies:
            if rng.random() < 0.7:
                each.subtopology_id, each.source_topics = "0", rng.sample(TOPICS, rng.randrange(3))
    for roles in ("active_tasks", "standby_tasks", "warmup_tasks", "active_tasks_pending_revocation"):
        for tasks in getattr(value, roles, ()):
            if rng.random() < 0.7:
                tasks.subtopology_id, tasks.partitions = "0", [rng.choice(INT32S)]
    if hasattr(value, "member_epoch") and rng.random() < 0.7:
        value.member_epoch = rng.choice((-1, 0, 1, 2))
    return _versioned(version, value)


def transaction_types(rng: random.Random) -> list[_Type]:
    """The record type of ``__transaction_state``, twice: with any status, and with those that a coordinator stores."""
    generator = MessageGenerator(rng, unknown_tags=False)
    keys = [_INT16.pack(0) + encode(TransactionLogKey(name), 0) for name in TRANSACTIONAL_IDS]
    types = []
    for statuses in (range(-1, 9), range(6)):
        values = []
        for _ in range(4 * POOL):
            version = rng.randint(*TransactionLogValue.VERSIONS)
            value = generator.message(TransactionLogValue, version)
            assert isinstance(value, TransactionLogValue)
            value.transaction_status = rng.choice(statuses)
            if rng.random() < 0.7:
                value.producer_id, value.producer_epoch = rng.randrange(5), rng.choice((0, 1, 32766, 32767))
            for topic in value.transaction_partitions or ():
                if rng.random() < 0.7:
                    topic.topic, topic.partition_ids = rng.choice(("t", "__consumer_offsets")), [rng.choice(INT32S)]
            values.append(_versioned(version, value))
        types.append(_Type(keys, values))
    return types


class MutatedRecords:
    """Draws records from a source of randomness; the same seed makes the same records."""

    def __init__(self, rng: random.Random, types: Callable[[random.Random], Sequence[_Type]]) -> None:
        self._rng = rng
        self._types = types(rng)

    def next(self) -> Pair:
        """The key and the value of a record."""
        rng = self._rng
        chosen = rng.choice(self._types)
        key = rng.choice(chosen.keys)
        if rng.random() < TOMBSTONES:
            return key, None
        value = rng.choice(chosen.values)
        if rng.random() >= DAMAGED:
            return key, value
        return self._damaged(key, value)

    def _damaged(self, key: bytes, value: bytes) -> Pair:
        rng = self._rng
        match rng.randrange(8):
            case 0:
                return None, value
            case 1:
                return damaged_bytes(rng, key), value
            case 2:
                return damaged_bytes(rng, key), damaged_bytes(rng, value)
            case 3:
                return key, rng.choice(rng.choice(self._types).values)
            case 4:
                return key, _INT16.pack(rng.choice((-1, 0, 1, 2, 3, 4, 5, 99))) + value[2:]
            case _:
                return key, damaged_bytes(rng, value)


def damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes with one kind of damage."""
    damaged = bytearray(data)
    match rng.randrange(4):
        case 0:
            return bytes(damaged[: rng.randrange(len(damaged) + 1)])
        case 1:
            return bytes(damaged + rng.randbytes(rng.randint(1, 8)))
        case 2:
            place = rng.randrange(len(damaged) + 1)
            damaged[place:place] = rng.randbytes(rng.randint(1, 4))
        case _:
            for _ in range(rng.randint(1, 3)):
                if damaged:
                    damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(damaged)


__all__ = ["GROUPS", "MEMBERS", "MutatedRecords", "Pair", "group_types", "metadata_records", "transaction_types"]
