"""Heavy work that a broker does by itself, or that other processes do on the same directory.

Each of :data:`BACKGROUND` is one line of the second table in docs/developers/benchmarks.md.
"""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable

from odradek.protocol.codec.header import encode_request
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetFetchRequest
from odradek.protocol.records.builder import BatchBuilder, encode_batch
from odradek.protocol.records.record import Record
from scale.many_offsets import group_name, write_offsets
from support.brokers.asking import Asking
from support.brokers.heavy_requests import Heavy, Prepared, Scale, create, delete, produce
from support.brokers.our_broker import OurBroker
from support.eventually import eventually

BATCH_BYTES = 10_000_000
GB = 10**9
PATIENCE_S = 600.0
LOADED_OFFSETS = 2_000_000
OFFSETS_A_GROUP = 500

CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "100",
    "metadata.log.max.record.bytes.between.snapshots": "10000",
    "odradek.metrics.listener": "127.0.0.1:0",
}

Background = Callable[[OurBroker, Scale], Prepared]


def _fill(heavy: Heavy, topic: str, size: int) -> None:
    """Appends batches of 10 MB each, whose records are 100 kB."""
    value = bytes(100_000)
    batch = encode_batch([Record(n, clock_ms(), b"%d" % n, value, []) for n in range(BATCH_BYTES // len(value))])
    frame = encode_request(produce(topic, batch), 8, 7, "heavy")
    for _ in range(max(1, size // BATCH_BYTES)):
        heavy.send(frame)


def _deletion(broker: OurBroker, scale: Scale) -> Prepared:
    heavy = Heavy(broker.port)
    heavy.ask(create(["large"], max_message_bytes="20000000", file_delete_delay_ms="0"), 5)
    _fill(heavy, "large", scale.of(20 * GB))

    def remove() -> None:
        heavy.ask(delete(["large"]), 6)
        eventually("the files have gone", lambda: not list(broker.log_dir.glob("large-0*")), patience_s=PATIENCE_S)

    return remove


def _retention(broker: OurBroker, scale: Scale) -> Prepared:
    """A lower retention.bytes deletes all segments except the active one at once."""
    heavy = Heavy(broker.port)
    configs = {"max_message_bytes": "20000000", "file_delete_delay_ms": "0", "segment_bytes": "100000000"}
    heavy.ask(create(["aging"], 1, retention_bytes="1", **configs), 5)

    def grow() -> None:
        _fill(heavy, "aging", scale.of(5 * GB))

    return grow


def _compaction(broker: OurBroker, scale: Scale) -> Prepared:
    """A cleaning round: one key for every ten records of 100 bytes, in segments of 20 MB."""
    heavy = Heavy(broker.port)
    configs = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01", "segment_bytes": "20000000"}
    heavy.ask(create(["keyed"], 1, **configs), 5)
    frames = []
    for number in range(10):
        builder = BatchBuilder()
        for record in range(5_000):
            builder.append(clock_ms(), b"key-%d" % ((number * 5_000 + record) // 10), bytes(100))
        frames.append(encode_request(produce("keyed", builder.build()), 8, 7, "heavy"))

    def write_and_clean() -> None:
        for number in range(scale.of(2_000)):
            heavy.send(frames[number % len(frames)])
        checkpoint = broker.log_dir / "cleaner-offset-checkpoint"
        eventually(
            "a round of the cleaner",
            lambda: checkpoint.exists() and "keyed" in checkpoint.read_text(),
            patience_s=PATIENCE_S,
        )

    return write_and_clean


def _snapshot(broker: OurBroker, scale: Scale) -> Prepared:
    """A change after which a snapshot of 15,000 partitions is due."""
    heavy = Heavy(broker.port)
    metadata = broker.log_dir / "__cluster_metadata-0"
    seen = set(metadata.glob("*.checkpoint"))

    def change() -> None:
        for number in range(3):
            heavy.ask(create([f"wide-{number}"], scale.of(5_000)), 5)
            eventually("a snapshot", lambda: set(metadata.glob("*.checkpoint")) - seen, patience_s=PATIENCE_S)
            seen.update(metadata.glob("*.checkpoint"))

    return change


def _audit(broker: OurBroker, scale: Scale) -> Prepared:
    heavy = Heavy(broker.port)
    heavy.ask(create(["audited"], max_message_bytes="20000000"), 5)
    _fill(heavy, "audited", scale.of(2 * GB))
    command = [sys.executable, "-m", "odradek", "audit", str(broker.log_dir)]

    def audit() -> None:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode in (0, 1), ended.stderr

    return audit


def _scrape(broker: OurBroker, scale: Scale) -> Prepared:
    heavy = Heavy(broker.port)
    for number in range(4):
        heavy.ask(create([f"measured-{number}"], scale.of(5_000)), 5)
    found = re.search(r"metrics at (http\S+)", broker.log())
    assert found is not None, "the broker says where its metrics are"
    url = found[1]

    def scrape() -> None:
        for _ in range(3):
            with urllib.request.urlopen(url) as answer:
                assert answer.read().count(b"kafka_log_log_size{") >= 4 * scale.of(5_000)

    return scrape


def _timers(broker: OurBroker, scale: Scale) -> Prepared:
    """Every kind of timer that visits all logs, each several times: checkpoints, flushes, retention, disk space."""
    heavy = Heavy(broker.port)
    for number in range(3):
        heavy.ask(create([f"keyed-{number}"], scale.of(5_000), cleanup_policy="compact", flush_messages="1"), 5)
    checkpoints = broker.log_dir / "recovery-point-offset-checkpoint"

    def written() -> int:
        return checkpoints.stat().st_mtime_ns

    def wait() -> None:
        for _ in range(5):
            before = written()
            assert Asking(broker.port).produce("keyed-0", 0, b"value") == 0  # they are written if an offset has changed
            eventually("the checkpoints are written", lambda: written() != before, patience_s=PATIENCE_S)  # noqa: B023

    return wait


def loading(broker: OurBroker, scale: Scale) -> Prepared:
    """Restarts the broker with 2,000,000 committed offsets, and waits until all are served."""
    Heavy(broker.port).ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["any"]), 4)
    assert broker.stop() == 0
    groups = scale.of(LOADED_OFFSETS) // OFFSETS_A_GROUP
    write_offsets(broker.log_dir, groups, OFFSETS_A_GROUP, now_ms=clock_ms())
    broker.start()

    wanted = [
        OffsetFetchRequest.OffsetFetchRequestGroup(group_name(group), topics=None) for group in range(min(groups, 200))
    ]

    def is_loaded() -> bool:
        answered = Asking(broker.port).ask(OffsetFetchRequest(groups=wanted), 9).groups
        return all(not one.error_code and one.topics for one in answered)

    def until_loaded() -> None:
        eventually("all offsets are served", is_loaded, patience_s=PATIENCE_S)

    return until_loaded


TIMER_CONFIGS = {
    **CONFIGS,
    "log.initial.task.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "log.flush.scheduler.interval.ms": "500",
    "log.retention.check.interval.ms": "500",
    "odradek.log.dirs.max.bytes": "1000000000000",
}
"""Configs with which timers that are due after minutes by default fire several times in a measurement."""
TIMERS = "timers that look at 15,000 compacted partitions"
SCRAPE = "three scrapes of the metrics of 20,000 partitions"
BACKGROUND: dict[str, Background] = {
    "deletion of a topic of 20 GB": _deletion,
    "retention of 5 GB while it is written": _retention,
    "writing and compacting 1.2 GB": _compaction,
    "creation of 15,000 partitions with metadata snapshots": _snapshot,
    "an audit of the same directory, 2 GB": _audit,
    SCRAPE: _scrape,
    TIMERS: _timers,
}
