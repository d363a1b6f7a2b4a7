"""Parses the options for the start and end of a read: offsets, or timestamps, which splits.py converts to offsets.

Pure. If several options set one bound, a timestamp for all partitions takes precedence over timestamps by partition,
and these over offsets, as in Spark's Kafka source. Source: Spark's KafkaSourceProvider.getKafkaOffsetRangeLimit,
JsonUtils.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

EARLIEST, LATEST = -2, -1
_WORDS = {"earliest": EARLIEST, "latest": LATEST}

ByPartition = dict[str, dict[int, int]]


@dataclass(frozen=True, slots=True)
class ReadBound:
    """The start or the end of a read. An offset may be EARLIEST or LATEST; timestamps are ms since 1970."""

    offset: int
    """The offset for every partition that `offsets` does not have."""
    offsets: ByPartition
    timestamp: int | None
    timestamps: ByPartition
    is_lenient: bool
    """Whether a timestamp later than all records means the end of the log. If False, it is an error."""

    def offset_for(self, topic: str, partition: int) -> int:
        """The requested offset, EARLIEST or LATEST."""
        return self.offsets.get(topic, {}).get(partition, self.offset)

    def timestamp_for(self, topic: str, partition: int) -> int | None:
        """The requested timestamp (ms since 1970); None if the bound is an offset."""
        if self.timestamp is not None:
            return self.timestamp
        return self.timestamps.get(topic, {}).get(partition)


def parse_bound(side: str, options: Mapping[str, str | None], default: int, *, is_stream: bool | None) -> ReadBound:
    """The start or end of a read (`side` is `starting` or `ending`), from the options.

    `default`: the offset if no option sets it. `is_stream` None: not known. Raises ValueError for options that Spark's
    Kafka source also refuses.
    """
    name, is_start = f"{side}Offsets", side == "starting"
    by_timestamp = f"{side}OffsetsByTimestamp"
    if is_stream and not is_start and any(options[key] for key in (name, by_timestamp, "endingTimestamp")):
        raise ValueError(
            "a stream has no end: endingOffsets, endingOffsetsByTimestamp and endingTimestamp are for batch reads"
        )
    text = options[name]
    offset, offsets = default, {}
    if text is not None and text.strip().lower() in _WORDS:
        offset = _WORDS[text.strip().lower()]
        _check(name, offset, is_start=is_start, is_stream=is_stream)
    elif text is not None:
        offsets = _json(name, text, '"earliest", "latest" or JSON like {"topic": {"0": 23}}')
        for found in offsets.values():
            for value in found.values():
                _check(name, value, is_start=is_start, is_stream=is_stream)
    timestamps = options[by_timestamp]
    strategy = (options["startingOffsetsByTimestampStrategy"] or "error").lower()
    if strategy not in ("error", "latest"):
        raise ValueError(f"startingOffsetsByTimestampStrategy must be error or latest, not {strategy}")
    return ReadBound(
        offset,
        offsets,
        _timestamp(f"{side}Timestamp", options[f"{side}Timestamp"]),
        {} if timestamps is None else _json(by_timestamp, timestamps, 'JSON like {"topic": {"0": 1700000000000}}'),
        not is_start or strategy == "latest",
    )


def _check(name: str, offset: int, *, is_start: bool, is_stream: bool | None) -> None:
    meaningless = LATEST if is_start else EARLIEST
    is_allowed = is_start and is_stream is not False
    if offset < EARLIEST or (offset == meaningless and not is_allowed):
        raise ValueError(f"{name} can't be {'latest' if offset == LATEST else 'earliest'} ({offset}) here")


def _json(name: str, text: str, expected: str) -> ByPartition:
    try:
        parsed = json.loads(text)
        return {topic: {int(p): int(value) for p, value in found.items()} for topic, found in parsed.items()}
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f"{name} must be {expected}, not {text!r}") from None


def _timestamp(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.strip().isdigit():
        raise ValueError(f"{name} must be a time in ms since 1970, not {text!r}")
    return int(text)
