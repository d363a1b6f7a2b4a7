"""Converts Spark's pushed-down filters to a Pruning: partitions, offsets and timestamps that need not be read.

Pure. Spark applies every filter again, so a filter that is not supported here only costs time. Source:
pyspark.sql.datasource.Filter.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from ..reading.options import Pruning

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def prune(filters: Iterable[Filter]) -> Pruning:
    """The Pruning of all filters together (they are combined with AND)."""
    pruning = Pruning()
    for found in filters:
        attribute = getattr(found, "attribute", ())
        value = getattr(found, "value", None)
        if attribute == ("topic",):
            pruning = replace(pruning, topics=_allowed(found, pruning.topics))
        elif attribute == ("partition",):
            pruning = replace(pruning, partitions=_allowed(found, pruning.partitions))
        elif attribute == ("offset",) and isinstance(value, int):
            pruning = _within_offsets(found, value, pruning)
        elif attribute == ("timestamp",) and isinstance(value, datetime):
            pruning = _from_timestamp(found, value, pruning)
    return pruning


def _allowed(found: Filter, allowed: frozenset[object] | None) -> frozenset[object] | None:
    if isinstance(found, (EqualTo, EqualNullSafe)):
        values = frozenset([found.value])
    elif isinstance(found, In):
        values = frozenset(found.value)
    else:
        return allowed
    return values if allowed is None else allowed & values


def _within_offsets(found: Filter, value: int, pruning: Pruning) -> Pruning:
    first, end = pruning.first_offset, pruning.end_offset
    if isinstance(found, (EqualTo, EqualNullSafe)):
        first, end = max(first, value), min(end, value + 1)
    elif isinstance(found, GreaterThan):
        first = max(first, value + 1)
    elif isinstance(found, GreaterThanOrEqual):
        first = max(first, value)
    elif isinstance(found, LessThan):
        end = min(end, value)
    elif isinstance(found, LessThanOrEqual):
        end = min(end, value + 1)
    return replace(pruning, first_offset=first, end_offset=end)


def _from_timestamp(found: Filter, value: datetime, pruning: Pruning) -> Pruning:
    """Uses lower bounds only: a batch header has the maximum timestamp, which shows that all records are too old.

    The bound is 1 ms lower than the filter's, because floats are rounded.
    """
    if not isinstance(found, (EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual)):
        return pruning
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    milliseconds = (moment - _EPOCH).total_seconds() * 1000
    return replace(pruning, first_timestamp=max(pruning.first_timestamp, int(milliseconds) - 1))  # floats round
