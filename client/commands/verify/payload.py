"""The records that ``odradek verify`` writes: run, number and time of the send in the value, one of several keys.

Pure.
"""

VALUE_BYTES = 100
KEYS = 100


def key_of(number: int) -> bytes:
    """The key of the record with this number."""
    return b"key-%d" % (number % KEYS)


def value_of(run: str, number: int, sent_us: int) -> bytes:
    """The value. ``sent_us``: µs of any clock."""
    return f"{run} {number} {sent_us} ".encode().ljust(VALUE_BYTES, b".")


def parsed(run: str, key: bytes | None, value: bytes | None) -> tuple[int, int] | None:
    """Number and time of a record of the run; None for any other record, and for one that is damaged."""
    parts = (value or b"").split(b" ")
    if len(parts) != 4 or parts[0] != run.encode() or not (parts[1].isdigit() and parts[2].isdigit()):
        return None
    number, sent_us = int(parts[1]), int(parts[2])
    return (number, sent_us) if key == key_of(number) and value == value_of(run, number, sent_us) else None
