"""Logs that a start can't take as they are: each costs its own partition at most, and the broker serves the others."""

import logging
import shutil
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetFetchRequest
from odradek.protocol.records.batch import MAGIC_POSITION
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking

PARTITIONS = 30
TORN, FOREIGN, WRONG_START, BACKUP = 3, 5, 7, "backup-2024"
GROUP = "readers"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The directories of a broker after a clean stop and after a kill: three records in each partition, a group."""
    home = tmp_path_factory.mktemp("stopped")
    broker = InProcessBroker(home / "killed")
    broker.start()
    assert Asking(broker.port).create("t", PARTITIONS) == 0
    with KafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for partition in range(PARTITIONS):
            for number in range(3):
                producer.send("t", b"%d" % number, partition=partition)
                producer.flush()
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=GROUP)
    consumer.assign([TopicPartition("t", 0)])
    consumer.seek(TopicPartition("t", 0), 3)
    consumer.commit()
    consumer.close()
    broker.kill()
    shutil.copytree(home / "killed", home / "clean")
    broker = InProcessBroker(home / "clean")
    broker.start()
    broker.stop()
    return home / "clean", home / "killed"


def log_of(home: Path, partition: int) -> Path:
    [path] = home.glob(f"**/t-{partition}/*.log")
    return path


def foreign_batch() -> bytes:
    data = bytearray(encode_batch([Record(3, 1, None, b"from the future", [])], base_offset=3))
    data[MAGIC_POSITION] = 3
    return bytes(data)


def disturb(home: Path) -> dict[Path, bytes]:
    """A torn tail, a batch of a later format, a wrong log start offset, a directory beside the partitions.

    Returns the files that must not change.
    """
    torn, foreign = log_of(home, TORN), log_of(home, FOREIGN)
    torn.write_bytes(torn.read_bytes()[:-7])
    foreign.write_bytes(foreign.read_bytes() + foreign_batch())
    root = foreign.parent.parent
    (root / "log-start-offset-checkpoint").write_text(f"0\n1\nt {WRONG_START} 93\n")
    (root / BACKUP).mkdir()
    (root / BACKUP / "notes").write_text("mine")
    return {path: path.read_bytes() for path in (foreign, log_of(home, WRONG_START))}


@pytest.mark.parametrize("is_clean", [True, False])
def test_each_costs_its_own_partition_at_most(
    stopped: tuple[Path, Path], tmp_path: Path, is_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    home = Path(shutil.copytree(stopped[not is_clean], tmp_path / "home"))
    kept = disturb(home)
    caplog.set_level(logging.INFO)
    broker = InProcessBroker(home)
    broker.start()
    try:
        asking = Asking(broker.port)
        for partition in range(PARTITIONS):
            expected = [b"0", b"1"] if partition == TORN else [b"0", b"1", b"2"]
            if partition == FOREIGN:
                for code in (
                    asking.fetch("t", partition)[0],
                    asking.end_offset("t", partition)[0],
                    asking.produce("t", partition, b"more"),
                ):
                    assert code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
                continue
            assert asking.fetch("t", partition) == (0, expected), partition
            assert asking.produce("t", partition, b"more") == 0, partition
            assert asking.fetch("t", partition) == (0, [*expected, b"more"]), partition
        assert caplog.text.count(f"t-{FOREIGN} is not served") == 1
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=GROUP)
        assert consumer.committed(TopicPartition("t", 0)) == 3
        consumer.close()
    finally:
        broker.stop()
    assert "Traceback" not in caplog.text
    assert kept == {path: path.read_bytes()[: len(data)] for path, data in kept.items()}
    assert log_of(home, FOREIGN).read_bytes() == kept[log_of(home, FOREIGN)]
    assert f"t-{WRONG_START}: log-start-offset-checkpoint says that the log starts at offset 93" in caplog.text
    [stray] = home.glob(f"**/{BACKUP}.*-stray")
    assert (stray / "notes").read_text() == "mine"
    if is_clean:
        assert caplog.text.count("in spite of the marker of a clean stop; recovering the log") == 2  # TORN, FOREIGN


def test_an_unreadable_log_can_be_deleted_and_comes_back_with_a_version_that_reads_it(
    stopped: tuple[Path, Path], tmp_path: Path
) -> None:
    home = Path(shutil.copytree(stopped[1], tmp_path / "home"))
    disturb(home)
    with InProcessBroker(home) as broker:
        assert Asking(broker.port).fetch("t", FOREIGN)[0] == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    path = log_of(home, FOREIGN)
    path.write_bytes(path.read_bytes()[: -len(foreign_batch())])  # a version that reads it would serve this, and more
    with InProcessBroker(home) as broker:
        assert Asking(broker.port).fetch("t", FOREIGN) == (0, [b"0", b"1", b"2"])


def test_an_unreadable_partition_of_the_offsets_topic_costs_its_groups(
    stopped: tuple[Path, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Path(shutil.copytree(stopped[1], tmp_path / "home"))
    [path] = [one for one in home.glob("**/__consumer_offsets-*/*.log") if one.stat().st_size]
    path.write_bytes(path.read_bytes() + foreign_batch())
    with InProcessBroker(home) as broker:
        assert Asking(broker.port).fetch("t", 0) == (0, [b"0", b"1", b"2"])
        assert Asking(broker.port).produce("t", 0, b"more") == 0
        other = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id="others")
        other.assign([TopicPartition("t", 1)])
        other.seek(TopicPartition("t", 1), 2)
        other.commit()
        assert other.committed(TopicPartition("t", 1)) == 2
        other.close()
        asked = OffsetFetchRequest(GROUP, [OffsetFetchRequest.OffsetFetchRequestTopic("t", [0])])
        assert Asking(broker.port).ask(asked, 7).error_code == ErrorCode.NOT_COORDINATOR
    assert f"{path.parent.name} is not served" in caplog.text
