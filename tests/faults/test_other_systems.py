"""The broker on systems that lack Linux's calls: macOS, as `faults.without_linux` models it."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from faults.without_linux import environment
from odradek.storage.files.files import CREATE, Files
from support.brokers.our_broker import OurBroker

ROOT = Path(__file__).parents[2]
EAGER = {
    "log.cleaner.backoff.ms": "100",
    "log.segment.delete.delay.ms": "200",
    "log.flush.interval.messages": "1000",
    "offsets.topic.num.partitions": "1",
    "log.preallocate": "true",
}
COMPACTED = {"cleanup.policy": "compact", "internal.segment.bytes": "500000", "min.cleanable.dirty.ratio": "0.01"}
KEYS = 100
VALUE = b"x" * 1000


def send(broker: OurBroker, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "batch.size": 50_000})
    failed: list[object] = []
    for number in range(count):
        producer.produce("states", VALUE, b"%d" % (number % KEYS), on_delivery=lambda error, _: failed.append(error))
        producer.poll(0)
    assert producer.flush(60) == 0
    assert not any(failed)


def keys_of(broker: OurBroker) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition("states", 0, 0)])
    found: list[bytes | None] = []
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            consumer.close()
            return found
        found.append(message.key())


@pytest.mark.ci
@pytest.mark.parametrize("refuses_full_sync", [False, True])
def test_produce_restart_and_compaction_without_the_calls_that_macos_lacks(
    tmp_path: Path, refuses_full_sync: bool
) -> None:
    model = tmp_path / "model"
    path = environment(model, refuses_full_sync=refuses_full_sync)["PYTHONPATH"]
    with OurBroker(tmp_path, EAGER, command_prefix=["env", f"PYTHONPATH={path}"]) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("states", 1, 1, config=COMPACTED)])["states"].result(60)
        send(broker, 4_000)
        broker.kill()
        broker.start()
        while "cleaned offsets" not in broker.log():
            with pytest.raises(subprocess.TimeoutExpired):  # it continues to serve
                broker.process.wait(0.05)
        assert set(keys_of(broker)) == {b"%d" % number for number in range(KEYS)}
        assert broker.stop() == 0
        broker.start()
        assert len(keys_of(broker)) < 4_000
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()
        synced = (model / "synced").read_text().splitlines()
    logs = {line for line in synced if "/states-0/" in line}
    assert bool(logs) is not refuses_full_sync
    assert (str(broker.log_dir / "states-0") in synced) is not refuses_full_sync, "names leave the drive's cache too"


def test_the_model_lacks_what_macos_lacks(tmp_path: Path) -> None:
    program = "import os, resource as r; print([n for n in dir(os) if n in ('fdatasync', 'posix_fallocate')]);"
    program += "r.setrlimit(r.RLIMIT_NOFILE, (r.RLIM_INFINITY, r.RLIM_INFINITY))"
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment(tmp_path / "m"), capture_output=True, text=True, check=False
    )
    assert run.stdout == "[]\n"
    assert "ValueError" in run.stderr


def test_blocks_without_posix_fallocate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    files = Files()
    descriptor = files.open(tmp_path / "f", CREATE)
    files.write_all(descriptor, [b"abc"], 0)
    files.allocate(descriptor, 3_000_000)
    facts = os.fstat(descriptor)
    assert facts.st_size == 3_000_000
    assert facts.st_blocks * 512 >= 3_000_000
    assert files.read(descriptor, 5, 0) == b"abc\0\0"
    files.allocate(descriptor, 10)
    assert files.size(descriptor) == 3_000_000, "never shorter"
    full = OSError(errno.ENOSPC, "full")

    def refuse(*_: object) -> int:
        raise full

    monkeypatch.setattr(os, "pwrite", refuse)
    with pytest.raises(OSError, match="full"):
        files.allocate(descriptor, 4_000_000)
    assert files.size(descriptor) == 3_000_000
    files.close(descriptor)


def test_a_sync_that_fails_is_not_taken_for_a_missing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = OSError(errno.EIO, "broken")

    def refuse(*_: object) -> int:
        raise broken

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    descriptor = Files().open(tmp_path / "f", CREATE)
    with pytest.raises(OSError, match="broken"):
        Files().sync(descriptor)
    Files().close(descriptor)


@pytest.mark.nightly
def test_every_call_exists_on_macos() -> None:
    """mypy knows the calls of each system: one that macOS lacks is an error unless the code checks for it."""
    command = [sys.executable, "-m", "mypy", "--strict", "--platform", "darwin", "-p", "odradek"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
