"""Searches by time in a log, run to their end at once."""

from odradek.protocol.common.steps import run_to_end
from odradek.storage.log.log import Log
from odradek.storage.log.read_result import TimestampAndOffset


def offset_for_timestamp(log: Log, timestamp: int | None) -> TimestampAndOffset | None:
    """The result of `Log.search_timestamp`."""
    search = log.search_timestamp(timestamp)
    found: TimestampAndOffset | None = None
    while True:
        try:
            needed = search.send(found)
        except StopIteration as end:
            result: TimestampAndOffset | None = end.value
            return result
        found = None
        if needed is not None:
            found = run_to_end(needed.steps)
            needed.scan.close()


def max_timestamp(log: Log) -> TimestampAndOffset | None:
    """The record with the greatest timestamp."""
    return offset_for_timestamp(log, None)
