"""The keys and values of the records that ``odradek verify`` writes. A value has the run, number and send time.

Pure.
"""

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
