"""Odradek's log writes the same files as a real Kafka for the same batches.

A Kafka is filled and stopped. Its batches are appended to our log with the topic's configuration. Each resulting file
(log, indexes, snapshots, epochs) must equal Kafka's, byte for byte. Each running broker must also lock its directory.
"""

from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient

from door.rules import CHECKPOINTS, PRODUCER, PRODUCER_HEADER, violations
from door.snapshot import topic_configs
from door.transactions import fill_with_transactions
from door.workload import CONFIGS, fill
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.config.topic_config import log_config_for
from odradek.broker.metadata.log.format import QuorumState
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.records.batch import ATTRIBUTES_POSITION, LOG_APPEND_TIME_FLAG
from odradek.storage.dump.segment_scan import Batch, LogFile
from odradek.storage.files.checkpoints import read_offset_checkpoint, write_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import (
    read_clean_shutdown,
    read_meta_properties,
    read_partition_metadata,
    write_clean_shutdown,
    write_meta_properties,
    write_partition_metadata,
)
from odradek.storage.log.log import AppendOrigin, Log
from support.brokers.our_broker import OurBroker
from support.kafka.java import java_or_skip
from support.kafka.real_kafka import RealKafka
from support.pipeline.audited_directory import stamp

pytestmark = [pytest.mark.java, pytest.mark.ci]

FIRST_SEGMENT = f"{0:020d}.log"


class Filled(NamedTuple):
    """The directory of a stopped Kafka."""

    log_dir: Path
    configs: dict[str, dict[str, str]]
    refusal: str
    """The output of an Odradek that was started on the directory while Kafka ran."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    java_or_skip()
    directory = tmp_path_factory.mktemp("kafka")
    internal = ("offsets.topic", "transaction.state.log")
    with RealKafka(directory, CONFIGS | {f"{name}.num.partitions": "8" for name in internal}) as kafka:
        fill(kafka.bootstrap_servers, seed=7, now_ms=clock_ms())
        fill_with_transactions(kafka.bootstrap_servers)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        configs = topic_configs(admin, admin.list_topics(timeout=60).topics)
        with pytest.raises(AssertionError, match="our broker ended with 1") as refused:
            OurBroker(directory, {"node.id": "1"}).start()
    return Filled(kafka.log_dir, configs, str(refused.value))


def test_a_running_kafka_keeps_its_directory(kafka: Filled) -> None:
    assert "another process has this log directory open (it holds .lock); stop it first" in kafka.refusal


def test_a_running_odradek_keeps_its_directory(tmp_path: Path) -> None:
    java_or_skip()
    with OurBroker(tmp_path, {"node.id": "1"}) as ours:
        second = RealKafka(tmp_path / "second")
        second.log_dir = ours.log_dir
        with pytest.raises(RuntimeError, match="Kafka ended with 1"):
            second.start()
        assert "Failed to acquire lock on file .lock" in second.output


def test_the_rules_hold_for_a_directory_of_kafkas_own(kafka: Filled) -> None:
    assert violations(kafka.log_dir, clean=True) == []


def test_our_log_writes_the_files_that_kafka_wrote(kafka: Filled, tmp_path: Path) -> None:
    compared: dict[str, int] = {}
    starts = read_offset_checkpoint(Files(), kafka.log_dir / "log-start-offset-checkpoint")
    for directory in sorted(path for path in kafka.log_dir.iterdir() if (path / FIRST_SEGMENT).exists()):
        topic, _, index = directory.name.rpartition("-")
        if topic not in kafka.configs:
            continue  # the metadata log, which has its own rules for rolling, and deleted topics
        start = starts.get((topic, int(index)), 0)
        _append_again(directory, tmp_path / directory.name, kafka.configs[topic], start)
        for name, content in _files(directory).items():
            assert _files(tmp_path / directory.name).get(name) == content, f"{directory.name}/{name}"
            kind = name.rpartition(".")[2]
            compared[kind] = compared.get(kind, 0) + 1
    assert set(compared) == {"log", "index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint"}
    assert min(compared.values()) >= 2, compared


def _append_again(source: Path, target: Path, configs: dict[str, str], start: int) -> None:
    """Appends Kafka's batches to our log, as a leader and with the clock at the time of each batch.

    Then deletes the records below ``start``."""
    config = log_config_for(ServerConfig.load(None, [], {}), configs)
    log = Log.open(target, config, now_ms=0)
    log.assign_epoch(0)
    for path in sorted(source.glob("*.log")):
        with LogFile(path) as file:
            for batch in file.batches():
                assert isinstance(batch, Batch)
                header = batch.header
                if config.is_log_append_time and not header.is_log_append_time:
                    log.appender.append_as_follower(batch.data, 0)  # appended before the config was changed
                else:
                    data = _as_it_was_sent(batch) if config.is_log_append_time else batch.data
                    epoch = header.partition_leader_epoch
                    log.appender.append_as_leader(data, epoch, header.max_timestamp, origin=AppendOrigin.COORDINATOR)
    log.offsets.increment_log_start_offset(start)
    log.close()


def _as_it_was_sent(batch: Batch) -> bytes:
    """The batch as the producer sent it: CreateTime, because only a broker may set LogAppendTime."""
    data = bytearray(batch.data)
    stamp(data, ATTRIBUTES_POSITION, ">h", batch.header.attributes & ~LOG_APPEND_TIME_FLAG)
    return bytes(data)


def _files(directory: Path) -> dict[str, bytes | list[bytes]]:
    """The files of a partition that result from its batches.

    A producer snapshot is returned as its sorted entries, because Kafka's order is that of a hash table."""
    files: dict[str, bytes | list[bytes]] = {}
    for path in directory.iterdir():
        data = path.read_bytes()
        if path.suffix == ".snapshot":
            size = PRODUCER.size
            producers = [data[at : at + size] for at in range(PRODUCER_HEADER.size, len(data), size)]
            files[path.name] = [data[:2], *sorted(producers)]
        elif path.suffix != ".deleted" and path.name != "partition.metadata":
            files[path.name] = data
    return files


def test_the_small_files_are_written_as_kafka_writes_them(kafka: Filled, tmp_path: Path) -> None:
    files = Files()
    for name in CHECKPOINTS:
        read = read_offset_checkpoint(files, kafka.log_dir / name)
        write_offset_checkpoint(files, tmp_path / name, read)
        theirs = (kafka.log_dir / name).read_text().splitlines()
        assert (tmp_path / name).read_text().splitlines() == [*theirs[:2], *sorted(theirs[2:], key=_by_partition)]
    epoch = read_clean_shutdown(files, kafka.log_dir)
    assert epoch is not None
    write_clean_shutdown(files, tmp_path, epoch)
    topic_id = read_partition_metadata(files, kafka.log_dir / "codec-none-0")
    assert topic_id is not None
    write_partition_metadata(files, tmp_path, topic_id)
    meta = read_meta_properties(files, kafka.log_dir)
    assert meta is not None
    write_meta_properties(files, tmp_path, meta)
    for name, theirs_dir in ((".kafka_cleanshutdown", ""), ("partition.metadata", "codec-none-0")):
        assert (tmp_path / name).read_bytes() == (kafka.log_dir / theirs_dir / name).read_bytes()
    ours, theirs = (_properties(path / "meta.properties") for path in (tmp_path, kafka.log_dir))
    assert ours == theirs, "order and comments are free"
    state = (kafka.log_dir / "__cluster_metadata-0" / "quorum-state").read_bytes()
    assert QuorumState.parse(state).to_json() == state


def _by_partition(line: str) -> tuple[str, int]:
    topic, partition, _ = line.split()
    return topic, int(partition)


def _properties(path: Path) -> list[str]:
    return sorted(line for line in path.read_text().splitlines() if not line.startswith("#"))
