"""Times on command lines of the pipeline: the same forms for every command."""

import argparse
from datetime import UTC, datetime


def time_ms(text: str) -> int:
    """ms since 1970 of a number, or of a time in ISO 8601, UTC where it names no zone. Raises ArgumentTypeError."""
    try:
        if text.lstrip("-").isdigit():
            return int(text)
        time = datetime.fromisoformat(text)
    except ValueError:
        problem = f"'{text}' is neither ms since 1970 nor a time like 2026-11-21T12:00"
        raise argparse.ArgumentTypeError(problem) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
