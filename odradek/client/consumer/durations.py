"""ISO 8601 durations as Java reads them.

Pure. Source: ``java.time.Duration.parse``: days, hours, minutes and seconds, each with an optional sign; no weeks,
months or years.
"""

import re

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
