"""Snapshots of random histories: the image of a snapshot and the records after it equals the image of all records."""

import random

import pytest

from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import publish, replay, replay_aside
from odradek.broker.metadata.log.log_reader import snapshot_records
from odradek.broker.metadata.log.snapshot import BATCH_BYTES, encode_snapshot, image_records
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS, encode_record
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
)
from odradek.protocol.records.batch import iterate_headers
from support.data.random_metadata import MetadataHistory

NOW_MS = 1_795_000_000_000
SEEDS = 40


def history(seed: int) -> list[bytes]:
    """The values of a history's records."""
    chance = random.Random(seed)
    metadata_version = chance.choice((8, 14, 17, 21, 25, 30, 30, 30))
    made = MetadataHistory(chance, metadata_version).records(chance.choice((20, 200, 600)))
    return [encode_record(record, version) for record, version in made]


def every_kind() -> list[bytes]:
    """A history that ends with metadata of every kind."""
    return [encode_record(record, version) for record, version in MetadataHistory(random.Random(5)).records(900)]


def image_of(values: list[bytes], image: MetadataImage | None = None) -> MetadataImage:
    """The image after these records."""
    image = MetadataImage() if image is None else image
    for value in values:
        message, version = METADATA_RECORDS.decode(value)
        delta = MetadataDelta()
        replay_aside(image, message, delta, version)
        publish(image, delta)
    return image


def through_a_snapshot(image: MetadataImage) -> MetadataImage:
    """Writes a snapshot of the image, and reads it back as a start does."""
    data = b"".join(encode_snapshot(image, 1, b"voters", 3, NOW_MS))
    loaded = MetadataImage()
    for record in snapshot_records(data, path=None):  # type: ignore[arg-type] # named only for damage
        replay(loaded, record.message, MetadataDelta(), record.version)
    return loaded


@pytest.mark.parametrize("seed", range(SEEDS))
def test_snapshot_at_any_cut_and_the_rest_give_the_same_image(seed: int) -> None:
    values = history(seed)
    whole = image_of(values)
    chance = random.Random(-seed)
    for cut in (len(values), *(chance.randrange(1, len(values)) for _ in range(3))):
        again = image_of(values[cut:], through_a_snapshot(image_of(values[:cut])))
        assert again == whole, f"seed {seed}, cut at record {cut} of {len(values)}"


def test_histories_have_every_record_type() -> None:
    of_the_log = {NoOpRecord, BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord}
    seen = {type(METADATA_RECORDS.decode(value)[0]) for seed in range(SEEDS) for value in history(seed)}
    assert seen == set(METADATA_RECORDS.types.values()) - of_the_log


def test_snapshot_has_kafkas_order() -> None:
    order = [
        "FeatureLevelRecord",
        "ZkMigrationStateRecord",
        "RegisterBrokerRecord",
        "RegisterControllerRecord",
        "TopicRecord",
        "ConfigRecord",
        "ClientQuotaRecord",
        "ProducerIdsRecord",
        "AccessControlEntryRecord",
        "UserScramCredentialRecord",
        "DelegationTokenRecord",
    ]
    kinds = [record.NAME for record, _ in image_records(image_of(every_kind()))]
    firsts = list(dict.fromkeys("TopicRecord" if kind == "PartitionRecord" else kind for kind in kinds))
    assert firsts == order
    assert kinds[0] == "FeatureLevelRecord"


def test_view_does_not_change() -> None:
    values = history(3)
    image = image_of(values[:100])
    view = image.view()
    before = list(encode_snapshot(view, 1, None, 1, NOW_MS))
    assert image == view
    image_of(values[100:], image)
    assert image != view
    assert list(encode_snapshot(view, 1, None, 1, NOW_MS)) == before


def test_batches_of_a_snapshot_are_small_steps() -> None:
    image = image_of(history(1))
    sizes = [len(batch) for batch in encode_snapshot(image, 1, b"v", 1, NOW_MS)]
    assert max(sizes) < BATCH_BYTES + 4096
    data = b"".join(encode_snapshot(image, 1, b"v", 1, NOW_MS))
    headers = [header for _, header in iterate_headers(data)]
    assert [header.base_offset for header in headers] == [0, *(header.next_offset for header in headers[:-1])]
    assert sum(header.size_in_bytes for header in headers) == len(data)
