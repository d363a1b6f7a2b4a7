"""Creates a compacted topic and waits for the broker's cleaner, so the next broker finds nothing left to clean."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from door.topics import Plan
from door.workload import TIMEOUT_S, create
from support.eventually import eventually

CLEANER = {"log.cleaner.backoff.ms": "100"}
"""Broker configs with which the cleaner runs often."""
CLEANED = Plan(
    "cleaned",
    configs={
        "cleanup.policy": "compact",
        "internal.segment.bytes": "2000",
        "min.cleanable.dirty.ratio": "0.01",
        "compression.type": "lz4",
    },
)


def fill_cleaned(servers: str, log_dirs: Sequence[Path], plan: Plan = CLEANED) -> None:
    """Fills a compacted topic of tiny segments, and waits until all segments except the active one are cleaned.

    ``log_dirs``: the broker's log directories.
    """
    create(AdminClient({"bootstrap.servers": servers}), [plan])
    producer: Any = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    for number in range(300):
        value = None if number % 50 == 49 else b"%d" % number * 20
        producer.produce(plan.name, value, b"key-%d" % (number % 17), number % 2)
        if number % 5 == 4:
            assert producer.flush(TIMEOUT_S) == 0
    for index in range(2):
        eventually(f"the cleaner at {plan.name}-{index}", partial(_is_cleaned, log_dirs, plan.name, index))


def _is_cleaned(log_dirs: Sequence[Path], topic: str, index: int) -> bool:
    [log_dir] = [path for path in log_dirs if (path / f"{topic}-{index}").is_dir()]
    directory, checkpoint = log_dir / f"{topic}-{index}", log_dir / "cleaner-offset-checkpoint"
    active = max(int(path.stem) for path in directory.glob("*.log"))
    done = checkpoint.exists() and f"{topic} {index} {active}\n" in checkpoint.read_text()
    return done and not [*directory.glob("*.cleaned"), *directory.glob("*.swap")]
