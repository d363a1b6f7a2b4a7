"""Records of the internal topics are read as by Kafka's own serdes; see ``InternalRecords.java``."""

import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.coordinator_serde import (
    GROUP_RECORDS,
    SHARE_RECORDS,
    TRANSACTION_RECORDS,
    encode_key,
    encode_value,
)
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS, REMOTE_LOG_RECORDS, encode_record
from support.data.messages import random_message, seed_of
from support.data.mutated_records import damaged_bytes
from support.kafka.java import TABLE_VERSION, java_class, java_or_skip, run_class

pytestmark = pytest.mark.java

COORDINATORS = {"groups": GROUP_RECORDS, "transactions": TRANSACTION_RECORDS, "share": SHARE_RECORDS}
METADATA = {"metadata": METADATA_RECORDS, "remote log": REMOTE_LOG_RECORDS}
INSTANCES = 12
MUTATIONS = 120


class StoredRecord(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None

    @property
    def line(self) -> str:
        return "\t".join((self.topic, *("-" if data is None else data.hex() for data in (self.key, self.value))))


def every_version(instances: int) -> Iterator[StoredRecord]:
    """Random records of every type and version of every topic, and a tombstone of each coordinator's type."""
    for topic, serde in COORDINATORS.items():
        for record_type, (key_class, value_class) in serde.types.items():
            key = encode_key(random_message(key_class, 0, seed_of(topic, record_type)))
            yield StoredRecord(topic, key, None)
            for version in range(value_class.VERSIONS[0], value_class.VERSIONS[1] + 1):
                for instance in range(instances):
                    seed = seed_of(topic, record_type, version, instance)
                    yield StoredRecord(topic, key, encode_value(random_message(value_class, version, seed), version))
    for topic, metadata in METADATA.items():
        for record_type, cls in metadata.types.items():
            for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
                for instance in range(instances):
                    seed = seed_of(topic, record_type, version, instance)
                    yield StoredRecord(topic, None, encode_record(random_message(cls, version, seed), version))


def asked_of_kafka(records: list[StoredRecord]) -> list[str]:
    """The key and the value of each record, read and written again by Kafka, or its refusal."""
    java_or_skip(TABLE_VERSION)
    lines = "".join(f"{record.line}\n" for record in records)
    result = run_class(java_class("InternalRecords", TABLE_VERSION), version=TABLE_VERSION, standard_input=lines)
    assert result.returncode == 0, result.stderr[-3000:]
    answers = result.stdout.splitlines()
    assert len(answers) == len(records)
    return answers


def rewritten(record: StoredRecord) -> StoredRecord:
    """The record, read and written again by our serde. Raises ProtocolError."""
    if record.topic in METADATA:
        return record._replace(value=encode_record(*METADATA[record.topic].decode(record.value)))
    serde = COORDINATORS[record.topic]
    key = serde.decode_key(record.key)
    if record.value is None:
        return record._replace(key=encode_key(key))
    return StoredRecord(record.topic, encode_key(key), encode_value(*serde.decode_value(key.API_KEY, record.value)))


def test_kafka_reads_and_writes_the_same_bytes() -> None:
    records = list(every_version(INSTANCES))
    expected = [record.line.replace(record.topic + "\t", "").replace("\t", " ") for record in records]
    wrong = [
        f"{record.line}: {answer}"
        for record, answer, bytes_of_ours in zip(records, asked_of_kafka(records), expected, strict=True)
        if answer != bytes_of_ours
    ]
    assert not wrong, f"{len(wrong)} of {len(records)}: {wrong[:3]}"


def test_kafka_reads_mutated_bytes_as_ours_does() -> None:
    """Kafka reads all bytes that ours reads as the same record. (Ours also refuses unknown versions, invalid UTF-8.)"""
    rng = random.Random(17)
    sound = list(every_version(2))
    records = []
    for record in sound:
        for _ in range(max(MUTATIONS * len(COORDINATORS) // len(sound), 4)):
            key, value = record.key, record.value
            if key is not None and rng.random() < 0.3:
                key = damaged_bytes(rng, key)
            if value is not None:
                value = damaged_bytes(rng, value)
            records.append(record._replace(key=key, value=value))
    read = 0
    for record, answer in zip(records, asked_of_kafka(records), strict=True):
        try:
            ours = rewritten(record)
        except ProtocolError:
            continue
        read += 1
        assert answer == ours.line.replace(record.topic + "\t", "").replace("\t", " "), record.line
    assert len(records) / 20 < read < len(records)
