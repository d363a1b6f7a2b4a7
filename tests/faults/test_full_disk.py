"""A full disk is a state: writers at full rate on 64 MiB, down to 0 bytes free, with starts and stops there."""

import os
import time
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.disk_traffic import PATIENCE_S, Reader, Writer, check_nothing_is_lost, fill, wait_until
from support.our_broker import OurBroker
from support.small_disk import SmallDisk

MIB = 1 << 20
REFUSED = "Producers get KAFKA_STORAGE_ERROR"
SERVED = "there is room again"
RECORD_BYTES = 4000
SEGMENTS = {"segment.bytes": str(MIB)}


def create(servers: str, *topics: NewTopic) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics(list(topics)).values():
        future.result(PATIENCE_S)


def delete(servers: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.delete_topics(list(topics)).values():
        future.result(PATIENCE_S)


def free_bytes(disk: SmallDisk) -> int:
    facts = os.statvfs(disk.seen_from_here)
    return facts.f_bavail * facts.f_frsize


def run(directory: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    with SmallDisk(directory / "disk", 64 * MIB) as disk:
        configs = {"log.dirs": str(disk.mount_point), "offsets.topic.num.partitions": "5"}
        with OurBroker(directory, configs, command_prefix=disk.prefix) as broker:
            servers = broker.bootstrap_servers
            create(
                servers,
                NewTopic("rolling", 2, config={**SEGMENTS, "retention.bytes": str(6 * MIB)}),
                NewTopic("kept", 1, config=SEGMENTS),
            )
            rolling = [
                Writer(servers, "rolling", 0, RECORD_BYTES, {"acks": "all"}),
                Writer(servers, "rolling", 1, RECORD_BYTES, {"enable.idempotence": True}),
            ]
            kept = Writer(servers, "kept", 0, RECORD_BYTES, {"compression.type": "none", "acks": 1})
            reader = Reader(servers, "readers", ["rolling", "kept"])
            (disk.seen_from_here / "filler").write_bytes(bytes(16 * MIB))
            fill_up_and_start_at_0_bytes(disk, broker, reader)
            (disk.seen_from_here / "filler").unlink()
            recovers_alone(broker, rolling, kept)
            while time.monotonic() < end:
                for writer in rolling:
                    before = len(writer.offsets)
                    wait_until("writers to go on", lambda w=writer, n=before: len(w.offsets) > n)  # type: ignore[misc]
                time.sleep(0.5)
            for writer in rolling:
                writer.end()
            for writer in rolling:
                low, _ = check_nothing_is_lost(servers, writer)
                assert low > 0, "retention has removed nothing: the disk never got full"
            reader.goes_on()
            reader.end()
            assert broker.process.poll() is None
            assert broker.stop() == 0
            assert "Traceback" not in broker.log()


def fill_up_and_start_at_0_bytes(disk: SmallDisk, broker: OurBroker, reader: Reader) -> None:
    """Commits, creations and deletions go on at 0 bytes; so do starts, after kill -9 and after a clean stop."""
    servers = broker.bootstrap_servers
    filler = disk.seen_from_here / "filler"
    wait_until("the disk to get full", lambda: REFUSED in broker.log())
    for end in (broker.kill, broker.stop):
        fill(filler)
        assert free_bytes(disk) == 0
        reader.goes_on()
        create(servers, NewTopic("at-0-bytes", 1))
        delete(servers, "at-0-bytes")
        fill(filler)
        end()
        fill(filler)
        assert free_bytes(disk) == 0
        broker.start()
        reader.goes_on()


def recovers_alone(broker: OurBroker, rolling: list[Writer], kept: Writer) -> None:
    """Files were removed; then what fills the disk again is a topic, and that is deleted."""
    servers = broker.bootstrap_servers
    for writer in [*rolling, kept]:
        before = len(writer.offsets)
        wait_until("writers to be served again", lambda w=writer, n=before: len(w.offsets) > n)  # type: ignore[misc]
    seen = broker.log().count(REFUSED)
    wait_until("the disk to get full again", lambda: broker.log().count(REFUSED) > seen)
    admin = AdminClient({"bootstrap.servers": servers})
    low, high = check_nothing_is_lost(servers, kept)
    assert low == 0, "nobody has asked for records of this topic to be removed"
    deleted = admin.delete_records([TopicPartition("kept", 0, high // 2)])
    for future in deleted.values():
        assert future.result(PATIENCE_S).low_watermark == high // 2
    seen = broker.log().count(SERVED)
    delete(servers, "kept")
    wait_until("the room of a deleted topic", lambda: broker.log().count(SERVED) > seen)
    kept.give_up()


@pytest.mark.ci
def test_a_minute_of_writers_on_64_mib(tmp_path: Path) -> None:
    run(tmp_path, 60)


@pytest.mark.long
def test_ten_minutes_of_writers_on_64_mib(tmp_path: Path) -> None:
    run(tmp_path, 600)
