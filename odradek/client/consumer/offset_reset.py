"""``auto_offset_reset``: where a consumer starts if it has no committed offset, or one that is not in the log.

Pure: the caller passes the time. Source: ``consumer.internals.AutoOffsetResetStrategy``, KIP-1106.
"""

from typing import NamedTuple

from ..cluster.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from ..errors import ConfigurationError
from .durations import parse_duration_ms

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
