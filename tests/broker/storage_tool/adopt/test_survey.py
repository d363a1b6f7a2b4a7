"""A survey of a dead broker's directories finds identities of any age, epochs, producers, keys, gaps, old formats."""

import re
from pathlib import Path

import pytest

from odradek.broker.storage_tool.adopt.found import FoundDirectory, FoundPartition
from odradek.broker.storage_tool.adopt.survey import Survey, survey
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import uuid_text, write_partition_metadata
from odradek.storage.files.overlay_files import OverlayFiles
from odradek.storage.files.regular_files import NotRegularFileError
from support.data.legacy_messages import messages
from support.disks.odd_files import ODD

ID = bytes(range(16))


def records(*offsets: int, key: bytes | None = None, value: bytes | None = b"v") -> bytes:
    chosen = [Record(offset, 1, key, value, []) for offset in offsets]
    return encode_batch(chosen, base_offset=offsets[0], partition_leader_epoch=5, producer_id=70 + offsets[0],
                        producer_epoch=0, base_sequence=0)  # fmt: skip


def write(root: Path, name: str, *batches: bytes, base_offset: int = 0) -> Path:
    directory = root / name
    directory.mkdir(exist_ok=True)
    (directory / f"{base_offset:020d}.log").write_bytes(b"".join(batches))
    return directory


def look(root: Path) -> tuple[Survey, FoundDirectory]:
    result = survey([root], lambda _: Files())
    return result, result.directories[0]


def only(found: FoundDirectory) -> FoundPartition:
    [partition] = found.partitions
    return partition


def test_epochs_come_from_the_checkpoint_and_from_the_last_segment(tmp_path: Path) -> None:
    directory = write(tmp_path, "t-with-dash-3", records(0, 1))
    write_partition_metadata(Files(), directory, ID)
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n2 0\n")
    result, found = look(tmp_path)
    partition = only(found)
    assert (partition.topic, partition.index, partition.topic_id) == ("t-with-dash", 3, ID)
    assert partition.leader_epoch == 5
    assert result.highest_producer_id == 70
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n9 0\n")
    assert only(look(tmp_path)[1]).leader_epoch == 9
    (directory / "leader-epoch-checkpoint").write_text("damage")
    assert only(look(tmp_path)[1]).leader_epoch == 5


def test_a_torn_tail_ends_what_is_read(tmp_path: Path) -> None:
    write(tmp_path, "t-0", records(0, 1), records(2)[:-3])
    result, found = look(tmp_path)
    assert only(found).leader_epoch == 5
    assert result.highest_producer_id == 70
    assert not only(found).has_gaps


@pytest.mark.parametrize(
    ("batches", "gaps"),
    [((records(0, 1), records(2)), False), ((records(0, 1), records(3)), True), ((records(0, 2),), True)],
)
def test_gaps(tmp_path: Path, batches: tuple[bytes, ...], gaps: bool) -> None:
    write(tmp_path, "t-0", *batches)
    assert only(look(tmp_path)[1]).has_gaps == gaps


def test_keys_of_internal_topics_and_producers_of_transactions(tmp_path: Path) -> None:
    group_key = b"\x00\x01\x00\x02g1\x00\x01t\x00\x00\x00\x00"
    write(tmp_path, "__consumer_offsets-4", records(0, key=group_key), records(1, key=b"\xff\xff"))
    transaction = b"\x00\x00" + (4711).to_bytes(8, "big") + bytes(20)
    write(tmp_path, "__transaction_state-1", records(0, key=b"\x00\x00\x00\x03tx1", value=transaction))
    write(tmp_path, "t-0", records(0, key=group_key))
    result, found = look(tmp_path)
    assert {p.topic: p.keys for p in found.partitions} == {
        "__consumer_offsets": {"g1"},
        "__transaction_state": {"tx1"},
        "t": set(),
    }
    assert result.highest_producer_id == 4711


def test_message_formats_before_2(tmp_path: Path) -> None:
    """The log end is found; a wrapper hides whether offsets are missing before it."""
    one, two, five = (Record(offset, 1, b"k", b"v", []) for offset in (1, 2, 5))
    write(tmp_path, "old-0", messages(1, [Record(0, 1, b"k", b"v", [])]), messages(0, [one, two], CompressionType.GZIP))
    write(tmp_path, "compacted-0", messages(0, [one]), messages(1, [five]))
    found = {partition.topic: partition for partition in look(tmp_path)[1].partitions}
    assert (found["old"].log_end_offset, found["old"].has_gaps) == (3, False)
    assert (found["compacted"].log_end_offset, found["compacted"].has_gaps) == (6, True)


def test_identities(tmp_path: Path) -> None:
    write(tmp_path, "t-0")
    assert look(tmp_path)[1].identity is None
    meta = tmp_path / "meta.properties"
    meta.write_text("#Mon\nversion=0\nbroker.id=7\ncluster.id=abc\n")
    identity = look(tmp_path)[1].identity
    assert identity is not None
    assert (identity.version, identity.node_id, identity.cluster_id, identity.directory_id) == (0, 7, "abc", None)
    meta.write_text(f"version=1\nnode.id=2\ncluster.id=abc\ndirectory.id={uuid_text(ID)}\n")
    identity = look(tmp_path)[1].identity
    assert identity is not None
    assert (identity.version, identity.node_id, identity.directory_id) == (1, 2, ID)
    meta.write_text("version=1\nnode.id=two\n")
    with pytest.raises(CorruptCheckpointError, match="move the file away"):
        look(tmp_path)


def test_what_is_no_partition_is_left_alone_and_said(tmp_path: Path) -> None:
    for name in ("t-0", "t-1.abc-stray", "t-2.abc-future", "t-3.abc-delete", "__cluster_metadata-0", "other"):
        write(tmp_path, name)
    found = look(tmp_path)[1]
    assert only(found).index == 0
    assert found.left_alone == ("t-2.abc-future",)
    assert [(one.path, one.topic, one.index) for one in found.strays] == [(str(tmp_path / "t-1.abc-stray"), "t", 1)]
    assert found.has_metadata


PLACES = ("t-0/00000000000000000000.log", "t-0/partition.metadata", "t-0/leader-epoch-checkpoint", "t-0/7.snapshot",
          "meta.properties", "cleaner-offset-checkpoint")  # fmt: skip


@pytest.mark.parametrize("files", [Files, OverlayFiles])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_is_named_and_not_opened(tmp_path: Path, place: str, odd: str, files: type[Files]) -> None:
    """Also through the file layer of --read-only. A FIFO would block for ever, /dev/zero would never end."""
    root = tmp_path / "logs"
    root.mkdir()
    write(root, "t-0", records(0, 1))
    path = root / place
    path.unlink(missing_ok=True)
    ODD[odd][0](path)
    with pytest.raises(OSError, match=re.escape(str(path))):
        survey([root], lambda _: files())


@pytest.mark.parametrize("is_outside", [True, False])
def test_a_linked_partition(tmp_path: Path, is_outside: bool) -> None:
    root = tmp_path / "logs"
    root.mkdir()
    elsewhere = tmp_path / "elsewhere" if is_outside else root / "elsewhere"
    write(root, "t-0", records(0, 1)).rename(elsewhere)
    (root / "t-0").symlink_to(elsewhere)
    if is_outside:
        with pytest.raises(NotRegularFileError, match="a symbolic link out of the log directory"):
            look(root)
    else:
        assert only(look(root)[1]).leader_epoch == 5
