"""A broker with a full disk stays up: writers at full rate on 64 MiB, down to 0 bytes free, with starts and stops."""

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.storage.files.disk_reserve import RESERVE_FILE
from odradek.storage.files.meta_properties import CLEAN_SHUTDOWN_FILE
from support.brokers.our_broker import OurBroker
from support.disks.disk_traffic import PATIENCE_S, Reader, Writer, check_nothing_is_lost, fill
from support.disks.small_disk import SmallDisk
from support.eventually import eventually
from support.kafka.java import java_or_skip, run_class

MIB = 1 << 20
REFUSED = "Producers get KAFKA_STORAGE_ERROR"
SERVED = "there is room again"
RECORD_BYTES = 4000
RECORDS = 100
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
            recovers_alone(disk, broker, rolling, kept)
            while time.monotonic() < end:
                for writer in rolling:
                    enough = len(writer.offsets) + 100
                    eventually("writers to go on", lambda w=writer, n=enough: len(w.offsets) >= n)  # type: ignore[misc]
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
    """Commits, creations and deletions continue at 0 bytes, also starts after kill -9 and after a clean stop."""
    servers = broker.bootstrap_servers
    filler = disk.seen_from_here / "filler"
    eventually("the disk to get full", lambda: REFUSED in broker.log())
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


def recovers_alone(disk: SmallDisk, broker: OurBroker, rolling: list[Writer], kept: Writer) -> None:
    """The broker recovers after files are removed, and after a topic that fills the disk again is deleted."""
    servers = broker.bootstrap_servers
    writers = [*rolling, kept]
    before = sum(len(writer.offsets) for writer in writers)
    refusals = broker.log().count(REFUSED)
    (disk.seen_from_here / "filler").unlink()
    # One of them is enough here: it may use the room up while the others still pause before they try again.
    eventually("writers to be served again", lambda: sum(len(writer.offsets) for writer in writers) > before)
    eventually("the disk to get full again", lambda: broker.log().count(REFUSED) > refusals)
    admin = AdminClient({"bootstrap.servers": servers})
    low, high = check_nothing_is_lost(servers, kept)
    assert low == 0, "no request asked for records of this topic to be removed"
    deleted = admin.delete_records([TopicPartition("kept", 0, high // 2)])
    for future in deleted.values():
        assert future.result(PATIENCE_S).low_watermark == high // 2
    seen = broker.log().count(SERVED)
    delete(servers, "kept")
    eventually("the room of a deleted topic", lambda: broker.log().count(SERVED) > seen)
    kept.give_up()


def send_with_kafka_python(servers: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)
    futures = [producer.send("t", b"kafka-python") for _ in range(RECORDS)]
    assert [future.get(PATIENCE_S) is not None for future in futures]
    producer.close()


def send_with_aiokafka(servers: str) -> None:
    from aiokafka import AIOKafkaProducer

    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=servers, request_timeout_ms=int(PATIENCE_S * 1000))
        await producer.start()
        await asyncio.gather(*[await producer.send("t", b"aiokafka") for _ in range(RECORDS)])
        await producer.stop()

    asyncio.run(send())


def send_with_confluent(servers: str) -> None:
    errors = []
    producer = Producer({"bootstrap.servers": servers})
    for _ in range(RECORDS):
        producer.produce("t", b"confluent", on_delivery=lambda error, _: errors.append(error) if error else None)
    assert producer.flush(PATIENCE_S) == 0
    assert not errors


def send_with_java(servers: str) -> None:
    result = run_class(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", "t", "--num-records", str(RECORDS), "--record-size", "4", "--throughput", "-1"),
        *("--bootstrap-server", servers),
    )
    assert result.returncode == 0, result.stderr
    assert f"{RECORDS} records sent" in result.stdout


@pytest.mark.ci
def test_every_client_tries_again_until_there_is_room(tmp_path: Path) -> None:
    java_or_skip()
    with SmallDisk(tmp_path / "disk", 16 * MIB) as disk:
        configs = {"log.dirs": str(disk.mount_point), "offsets.topic.num.partitions": "5"}
        with OurBroker(tmp_path, configs, command_prefix=disk.prefix) as broker, ThreadPoolExecutor(4) as pool:
            servers = broker.bootstrap_servers
            create(servers, NewTopic("t", 1))
            eventually("the reserve", (disk.seen_from_here / RESERVE_FILE).exists)
            fill(disk.seen_from_here / "filler")
            eventually("the disk to be full", lambda: REFUSED in broker.log())
            senders = (send_with_kafka_python, send_with_aiokafka, send_with_confluent, send_with_java)
            sent = [pool.submit(send, servers) for send in senders]
            reader = Reader(servers, "readers", ["t"])
            try:
                # Long enough for each client to have been refused; the slowest is Java's, which starts in 2 s.
                wait([sent[3]], timeout=6)
                done = [sender.__name__ for sender, one in zip(senders, sent, strict=True) if one.done()]
            finally:
                (disk.seen_from_here / "filler").unlink()
            assert (done, reader.records_count) == ([], 0), "a client was not refused, or has given up"
            for one in sent:
                one.result(PATIENCE_S)
            eventually("all records", lambda: reader.records_count >= 4 * RECORDS)
            reader.end()
            assert broker.stop() == 0


def answer_to_one(servers: str, partition: int, **settings: int) -> KafkaError | None:
    """Produces one record to a partition of topic t; returns its error, or None."""
    answers: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": servers, **settings})
    producer.produce("t", b"x", partition=partition, on_delivery=lambda error, _: answers.append(error))
    assert producer.flush(PATIENCE_S) == 0
    [answer] = answers
    return answer


@pytest.mark.ci
def test_a_full_directory_leaves_the_others_alone(tmp_path: Path) -> None:
    with SmallDisk(tmp_path / "disk", 16 * MIB) as disk:
        configs = {"log.dirs": f"{tmp_path / 'roomy'},{disk.mount_point}"}
        with OurBroker(tmp_path, configs, command_prefix=disk.prefix) as broker:
            servers = broker.bootstrap_servers
            create(servers, NewTopic("t", 2))
            (full,) = (int(path.name[2:]) for path in disk.seen_from_here.glob("t-*"))
            eventually("the reserve", (disk.seen_from_here / RESERVE_FILE).exists)
            fill(disk.seen_from_here / "filler")
            eventually("the disk to be full", lambda: REFUSED in broker.log())
            assert answer_to_one(servers, 1 - full) is None
            # It is refused and retries until its timeout; the other one has no time limit.
            assert answer_to_one(servers, full, **{"message.timeout.ms": 2000}) is not None
            assert broker.stop() == 0


@pytest.mark.ci
def test_a_stop_that_one_directory_refuses_closes_the_others_cleanly(tmp_path: Path) -> None:
    with SmallDisk(tmp_path / "disk", 16 * MIB) as disk:
        configs = {"log.dirs": f"{tmp_path / 'roomy'},{disk.mount_point},{tmp_path / 'roomier'}"}
        with OurBroker(tmp_path, configs, command_prefix=disk.prefix) as broker:
            create(broker.bootstrap_servers, NewTopic("t", 3))
            eventually("the reserve", (disk.seen_from_here / RESERVE_FILE).exists)
            fill(disk.seen_from_here / "filler")
            eventually("the disk to be full", lambda: REFUSED in broker.log())
            (disk.seen_from_here / RESERVE_FILE).write_bytes(b"")  # space was freed in the wrong place
            fill(disk.seen_from_here / "filler")
            assert broker.stop() == 1
            assert f"stopped, but not cleanly: KAFKA_STORAGE_ERROR: {disk.mount_point}" in broker.log()
            assert "Traceback" not in broker.log()
            for directory in (tmp_path / "roomy", tmp_path / "roomier"):
                assert (directory / CLEAN_SHUTDOWN_FILE).exists()
            assert not (disk.seen_from_here / CLEAN_SHUTDOWN_FILE).exists()
            (disk.seen_from_here / "filler").unlink()
            broker.start()
            send_with_confluent(broker.bootstrap_servers)
            assert broker.stop() == 0


@pytest.mark.ci
def test_a_start_on_a_full_disk_without_a_reserve_says_what_to_do(tmp_path: Path) -> None:
    with SmallDisk(tmp_path / "disk", MIB) as disk:
        broker = OurBroker(tmp_path, {"log.dirs": str(disk.mount_point)}, command_prefix=disk.prefix)
        fill(disk.seen_from_here / "filler")
        with pytest.raises(AssertionError, match="remove or move away any other file of that file system"):
            broker.start()
        (disk.seen_from_here / "filler").unlink()
        with broker:
            assert broker.stop() == 0


@pytest.mark.nightly
@pytest.mark.ci
def test_half_a_minute_of_writers_on_64_mib(tmp_path: Path) -> None:
    run(tmp_path, 30)


@pytest.mark.long
def test_ten_minutes_of_writers_on_64_mib(tmp_path: Path) -> None:
    run(tmp_path, 600)
