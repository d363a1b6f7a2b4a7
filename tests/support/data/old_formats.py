"""The log directory of a Kafka 2.8.2 with message formats 0, 1 and 2: a copy of its files, and the records in it.

    f<format>-<codec>-<create|append>   120 records in one format; append: with message.timestamp.type=LogAppendTime
    mixed-up, mixed-down                50 records in each format, rising or falling (gzip; none)

Made by tests/door/old_kafka.py, which needs a JVM and ZooKeeper; the archive spares them. The broker of a
ZooKeeper cluster has written it: it has no topic ids and no `__cluster_metadata`, so `odradek storage adopt` comes
first. index.interval.bytes is 400, segment.bytes 6000 or 4000; the last stop was clean.
"""

import tarfile
from pathlib import Path

from odradek.protocol.records.record import Record

ARCHIVE = Path(__file__).parent / "kafka_2_8_formats.tar.gz"
CODECS = ("none", "gzip", "snappy", "lz4")
START_MS = 1_700_000_000_000
RECORDS, MIXED_RECORDS = 120, 50
FORMAT_VERSIONS = {0: "0.9.0", 1: "0.10.2", 2: "2.8"}
"""Message format -> message.format.version."""
MIXED = {"mixed-up": (0, 1, 2), "mixed-down": (2, 1, 0)}
TOPICS = [
    *(f"f0-{codec}-create" for codec in CODECS),
    *(f"f1-{codec}-{time}" for codec in CODECS for time in ("append", "create")),
    *MIXED,
]


def unpack(root: Path) -> Path:
    """Writes the files into a new log directory; returns it."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    return root


def sent(topic: str) -> list[Record]:
    """The records that the producer has sent to a topic."""
    if topic in MIXED:
        return [_mixed(number, MIXED[topic][number // MIXED_RECORDS]) for number in range(3 * MIXED_RECORDS)]
    return [_single(number, topic.split("-")[1]) for number in range(RECORDS)]


def stored(topic: str) -> list[Record]:
    """The records as they are read: in format 0 without timestamps (-1), with LogAppendTime with 0 in their place."""
    if topic.endswith("-append"):
        return [record._replace(timestamp=0) for record in sent(topic)]
    if topic in MIXED:
        formats = [MIXED[topic][number // MIXED_RECORDS] for number in range(3 * MIXED_RECORDS)]
    else:
        formats = [int(topic[1])] * RECORDS
    return [
        record._replace(timestamp=record.timestamp if magic else -1)
        for record, magic in zip(sent(topic), formats, strict=True)
    ]


def _single(number: int, codec: str) -> Record:
    key = None if number % 11 == 3 else f"key-{number % 9}".encode()
    value = (
        None if number % 13 == 5 else b"" if number % 17 == 4 else f"{codec}-{number}-".encode() + b"x" * (number % 40)
    )
    return Record(number, START_MS + number * 1000 - (5000 if number % 7 == 2 else 0), key, value, [])


def _mixed(number: int, magic: int) -> Record:
    key = None if number % 11 == 3 else f"key-{number % 9}".encode()
    value = f"{FORMAT_VERSIONS[magic]}-{number}-".encode() + b"y" * (number % 30)
    return Record(number, START_MS + number * 1000, key, value, [])
