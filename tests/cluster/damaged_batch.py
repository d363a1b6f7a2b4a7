"""A batch with a changed byte on a leader's disk."""

from pathlib import Path

from confluent_kafka import Producer

from odradek.protocol.records.batch import iterate_headers

RECORDS = 6
DAMAGED = 4
"""The offset of the batch of which a byte is changed."""
LENGTH, MAGIC, CRC, VALUE = 11, 16, 20, 70
"""Positions in a batch: the last bytes of its length and CRC, its magic, and one of its record."""


def fill(servers: str, topic: str, acks: str = "all") -> None:
    """Writes one batch for each record."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": acks})
    for number in range(RECORDS):
        producer.produce(topic, f"record {number} of the leader".encode())
        assert producer.flush(60) == 0


def change_byte(log: Path, place: int, by: int = 1) -> None:
    """Adds to a byte of the batch at offset DAMAGED, in place."""
    data = log.read_bytes()
    (position,) = (at for at, header in iterate_headers(data) if header.base_offset == DAMAGED)
    with log.open("r+b") as file:
        file.seek(position + place)
        file.write(bytes([(data[position + place] + by) % 256]))
