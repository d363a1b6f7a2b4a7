"""``auto_offset_reset``: where a consumer starts if it has no committed offset, or one that is not in the log.

Pure: the caller passes the time. Source: ``consumer.internals.AutoOffsetResetStrategy``, KIP-1106.
"""

import re
from typing import NamedTuple

from ..cluster.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from ..errors import ConfigurationError

_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?:T(?=[-+\d])(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?"
    r"(?:(?P<seconds>[-+]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def parse_duration_ms(text: str) -> int:
    """The milliseconds of a duration such as ``P2DT3H4M5.5S``, rounded down. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match[unit] for unit in _SECONDS):
        raise ValueError(f"{text!r} is not an ISO 8601 duration such as PT1H30M or P2D")
    nanoseconds = sum(int(match[unit]) * factor for unit, factor in _SECONDS.items() if match[unit]) * 10**9
    if match["fraction"]:
        fraction = int(match["fraction"].ljust(9, "0"))
        nanoseconds += -fraction if match["seconds"].startswith("-") else fraction
    return (-nanoseconds if match["sign"] == "-" else nanoseconds) // 10**6


BY_DURATION = "by_duration:"


class OffsetReset(NamedTuple):
    """A parsed ``auto_offset_reset``."""

    kind: str
    """earliest, latest, none or by_duration."""
    duration_ms: int = 0

    def timestamp(self, now_ms: int) -> int | None:
        """The timestamp for ListOffsets; None without a reset policy."""
        if self.kind == "by_duration":
            return now_ms - self.duration_ms
        return {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}.get(self.kind)


def parse_offset_reset(text: str) -> OffsetReset:
    """Parses ``earliest``, ``latest``, ``none`` or ``by_duration:<ISO 8601>``. Raises ConfigurationError."""
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
