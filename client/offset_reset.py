"""``auto_offset_reset``: where a consumer goes that has no committed offset, or one that is not in the log.

Pure: the time comes in. Source: ``consumer.internals.AutoOffsetResetStrategy``, ``java.time.Duration.parse``, KIP-1106.
"""

import re
from typing import NamedTuple

from .errors import ConfigurationError
from .list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

BY_DURATION = "by_duration:"
_ISO_8601 = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?"
    r"(?:(?P<seconds>[-+]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
_UNITS_MS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


def parse_duration_ms(text: str) -> int:
    """The milliseconds of an ISO 8601 duration as Java takes it: ``P2DT3H4M5.5S``, signs allowed, no weeks or months.

    Raises ValueError.
    """
    match = _ISO_8601.fullmatch(text)
    parts = match.groupdict() if match is not None else {}
    time = parts.get("time")
    if not any(parts.get(unit) for unit in _UNITS_MS) or (time is not None and len(time) == 1):
        raise ValueError(f"{text!r} is no ISO 8601 duration such as PT1H30M or P2D")
    milliseconds = sum(int(parts[unit]) * factor for unit, factor in _UNITS_MS.items() if parts[unit])
    if parts["fraction"]:
        fraction = int(parts["fraction"].ljust(9, "0")) // 1_000_000
        milliseconds += -fraction if parts["seconds"].startswith("-") else fraction
    return -milliseconds if parts["sign"] == "-" else milliseconds


class OffsetReset(NamedTuple):
    """The parsed setting."""

    kind: str
    """earliest, latest, none or by_duration."""
    duration_ms: int = 0

    def timestamp(self, now_ms: int) -> int | None:
        """What ListOffsets is asked for; None where there is no reset."""
        if self.kind == "by_duration":
            return now_ms - self.duration_ms
        return {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}.get(self.kind)


def parse_offset_reset(text: str) -> OffsetReset:
    """``earliest``, ``latest``, ``none`` or ``by_duration:<ISO 8601>``. Raises ConfigurationError."""
    if text in ("earliest", "latest", "none"):
        return OffsetReset(text)
    if not text.startswith(BY_DURATION):
        raise ConfigurationError(
            f"auto_offset_reset is {text!r}; it can be earliest, latest, none, by_duration:<ISO 8601 duration>"
        )
    try:
        duration_ms = parse_duration_ms(text.removeprefix(BY_DURATION))
    except ValueError as error:
        raise ConfigurationError(f"auto_offset_reset: {error}") from None
    if duration_ms < 0:
        raise ConfigurationError(f"auto_offset_reset: the duration of {text!r} is negative")
    return OffsetReset("by_duration", duration_ms)
