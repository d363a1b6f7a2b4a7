"""The clock of timestamps: milliseconds since 1970, the unit of Kafka's records and messages. Shell."""

import time


def clock_ms() -> int:
    """Wall-clock milliseconds since the epoch. It may go back; deadlines use a monotonic clock."""
    return time.time_ns() // 1_000_000
