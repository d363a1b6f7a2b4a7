"""The parameters of a run of ``odradek verify``, and the keys and values of its records.

Pure.
"""

from typing import NamedTuple


class VerifyPlan(NamedTuple):
    """One run. It ends after ``duration_s`` seconds or after ``records`` records."""

    run: str
    """The name of the run, in the value of each of its records. It has no spaces."""
    topic: str
    partitions: int | None
    """None: any number for an existing topic, the default for a new one."""
    replication_factor: int
    rate: float
    """Records per second."""
    duration_s: float | None
    records: int | None
    transactional: bool
    timeout_s: float
    """The seconds without progress after which the final reading gives up."""


VALUE_BYTES = 100


KEYS = 100


def key_of(number: int) -> bytes:
    """The key of the record with this number."""
    return b"key-%d" % (number % KEYS)


def value_of(run: str, number: int, sent_us: int) -> bytes:
    """The value of a record. ``sent_us``: the send time in µs of the run's monotonic clock."""
    return f"{run} {number} {sent_us} ".encode().ljust(VALUE_BYTES, b".")


def parsed(run: str, key: bytes | None, value: bytes | None) -> tuple[int, int] | None:
    """Number and send time (µs) of a record of the run; None if it is from another run or damaged."""
    parts = (value or b"").split(b" ")
    if len(parts) != 4 or parts[0] != run.encode() or not (parts[1].isdigit() and parts[2].isdigit()):
        return None
    number, sent_us = int(parts[1]), int(parts[2])
    return (number, sent_us) if key == key_of(number) and value == value_of(run, number, sent_us) else None
