"""Snapshots of random histories are exchanged with Kafka's own classes in both directions."""

import json
import random

import pytest

from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.log.snapshot import encode_snapshot
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS, encode_record
from support.data.random_metadata import MetadataHistory
from support.kafka.java import TABLE_VERSION, java_class, java_or_skip, run_class

pytestmark = [pytest.mark.java, pytest.mark.ci]

HISTORIES = 150
NOW_MS = 1_795_000_000_000


def image_of(values: list[bytes]) -> MetadataImage:
    image = MetadataImage()
    for value in values:
        message, version = METADATA_RECORDS.decode(value)
        replay(image, message, MetadataDelta(), version)
    return image


def test_kafka_reads_our_snapshots_and_we_read_kafkas() -> None:
    """Kafka's image of our snapshot equals its image of the history, and our image of Kafka's snapshot equals ours."""
    java_or_skip(TABLE_VERSION)
    histories, questions = [], []
    for seed in range(HISTORIES):
        chance = random.Random(seed)
        history = MetadataHistory(chance, chance.choice((7, 8, 14, 17, 21, 25, 30, 33)))
        values = [encode_record(record, version) for record, version in history.records(chance.choice((10, 60, 300)))]
        snapshot = b"".join(encode_snapshot(image_of(values), 1, b"", 1, NOW_MS))
        histories.append(values)
        questions.append(json.dumps({"records": [value.hex() for value in values], "snapshot": snapshot.hex()}))
    program = java_class("MetadataImages", TABLE_VERSION)
    result = run_class(program, version=TABLE_VERSION, standard_input="\n".join(questions) + "\n")
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == HISTORIES
    for seed, (values, answer) in enumerate(zip(histories, answers, strict=True)):
        assert "error" not in answer, f"seed {seed}: {answer}"
        assert answer["different"] == [], f"seed {seed}"
        theirs = image_of([bytes.fromhex(value) for value in answer["written"]])
        assert comparable(theirs) == comparable(image_of(values)), f"seed {seed}"


def comparable(image: MetadataImage) -> MetadataImage:
    """Without fields of clusters with ZooKeeper, which Kafka 4 ignores and we keep for 3.9. Directories are sorted."""
    image.kept = {key: kept for key, kept in image.kept.items() if key[0] != "ZkMigrationStateRecord"}
    for broker_id, broker in image.brokers.items():
        image.brokers[broker_id] = broker._replace(directories=tuple(sorted(broker.directories)))
    return image
