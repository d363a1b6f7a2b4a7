"""The topics of the workload that passes between Odradek and a real Kafka, as data.

    for plan in PLANS: ...          # 30 plans; DELETED names more topics

Pure. Records are made from a seed; times are ms since 1970.
"""

from dataclasses import dataclass, field
from random import Random

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""Kafka's compression types."""

NEVER_CLEANED = {"min.compaction.lag.ms": "9223372036854775807"}
"""Keeps the cleaner from changing a topic, so it can be compared record by record, however long a test takes."""

Header = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """One topic, and the records that are sent to it."""

    name: str
    partitions: int = 2
    configs: dict[str, str] = field(default_factory=dict)
    codecs: tuple[str, ...] = ("none",)
    """One producer for each codec; they send in turn."""
    batches: int = 4
    """The number of batches from each producer to each partition."""
    records: int = 8
    """The number of records in a batch."""
    value_bytes: int = 60
    keys: int = 0
    """The number of different keys. With 0, most records have no key."""
    idempotent: bool = True


SMALL_SEGMENTS = {"internal.segment.bytes": "4000", "index.interval.bytes": "300"}
COMPACTED = {"cleanup.policy": "compact", **NEVER_CLEANED}

PLANS: tuple[Plan, ...] = (
    *(Plan(f"codec-{codec}", codecs=(codec,)) for codec in CODECS),
    Plan("codecs-mixed", codecs=CODECS),
    Plan("append-time", configs={"message.timestamp.type": "LogAppendTime"}, codecs=("none", "lz4")),
    Plan("append-time-zstd", configs={"message.timestamp.type": "LogAppendTime"}, codecs=("zstd",)),
    Plan("compressed-by-broker", configs={"compression.type": "gzip"}, codecs=("none", "snappy")),
    Plan("compacted", configs=COMPACTED, keys=9),
    Plan("compacted-small", configs=COMPACTED | SMALL_SEGMENTS, keys=7, batches=12, codecs=("none", "zstd")),
    Plan("compacted-gzip", configs=COMPACTED, keys=20, codecs=("gzip",)),
    Plan("compacted-and-deleted", configs=COMPACTED | {"cleanup.policy": "compact,delete"}, keys=5),
    Plan("segments", configs=SMALL_SEGMENTS, batches=20, codecs=("none", "lz4")),
    Plan("segments-plain", configs=SMALL_SEGMENTS, batches=20, idempotent=False),
    Plan("index-dense", configs={"index.interval.bytes": "0"}, batches=20),
    Plan("producers", codecs=("none",) * 6, batches=3),
    Plan("big-records", partitions=1, configs={"max.message.bytes": "3000000"}, records=1, value_bytes=1_500_000),
    Plan("many-partitions", partitions=12, batches=1),
    Plan("empty", batches=0),
    Plan("records-deleted", configs=SMALL_SEGMENTS, batches=16),
    Plan("retained-by-time", partitions=3, configs={"retention.ms": "3600000"}, batches=0),
    Plan("retained-by-size", partitions=1, configs={"retention.bytes": "9000", **SMALL_SEGMENTS}, batches=60),
    Plan("config-altered", configs={"retention.ms": "864000000", "segment.bytes": "2000000"}),
    Plan("config-removed", configs={"retention.ms": "864000000", "flush.messages": "7"}),
    Plan("partitions-added", partitions=1),
    Plan("recreated"),
    Plan("recreated-otherwise", partitions=3, configs={"cleanup.policy": "delete"}),
    Plan("kafka-python", partitions=1, batches=0),
    Plan("aiokafka", partitions=1, batches=0),
)
LIVING = "living"
"""The topic of the producer that continues while brokers are replaced. It is not in the plans."""
DELETED = ("deleted", "deleted-compacted", "deleted-and-gone")
"""Topics that are filled and deleted. They must not reappear."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A record to be passed to a producer."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: list[Header]


def batch_of(plan: Plan, chance: Random, timestamp_ms: int) -> list[Sent]:
    """The records of a batch, with keys and values of every kind, rising times, and headers in some records."""
    made = []
    for index in range(plan.records):
        key = b"key-%d" % chance.randrange(plan.keys) if plan.keys else chance.choice((None, None, b"", b"k\xff"))
        words = chance.randbytes(8).hex().encode()  # repeated, so every codec can compress it
        value: bytes | None = (words * (plan.value_bytes // len(words) + 1))[: plan.value_bytes]
        if plan.keys and chance.random() < 0.2:
            value = None
        elif chance.random() < 0.05:
            value = b""
        made.append(Sent(key, value, timestamp_ms + index, headers_of(chance)))
    return made


def headers_of(chance: Random) -> list[Header]:
    """Mostly no headers; else headers with a repeated name, an empty value, a null value, or a non-ASCII name."""
    if chance.random() < 0.7:
        return []
    some: list[Header] = [("trace", b"\x00\xff"), ("trace", b"2"), ("", b"no name"), ("null", None), ("größe", b"")]
    return [chance.choice(some) for _ in range(chance.randrange(1, 4))]
