"""The ``--date-format`` of ``kafka-consumer-perf-test.sh``: a pattern of Java's SimpleDateFormat. Pure.

Supported are the letters ``y M d H m s S`` and quoted text.
"""

import re
from datetime import datetime

DEFAULT = "yyyy-MM-dd HH:mm:ss:SSS"
PARTS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")
FIELDS = {
    "y": lambda moment: moment.year,
    "M": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "H": lambda moment: moment.hour,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "S": lambda moment: moment.microsecond // 1000,
}


def check_pattern(pattern: str) -> None:
    """Raises ValueError for a letter that is not supported, or an unclosed quote."""
    rest = PARTS.sub("", pattern)
    wrong = [found[1] for found in PARTS.finditer(pattern) if found[1] and found[1] not in FIELDS]
    if rest or wrong:
        raise ValueError(
            f"'{(wrong or [rest])[0]}' of the pattern is not supported; supported letters are {' '.join(FIELDS)}"
        )


def formatted(pattern: str, moment: datetime) -> str:
    """Formats a time by a pattern that ``check_pattern`` accepts. ``yy`` gives the last two digits of the year."""
    texts = []
    for found in PARTS.finditer(pattern):
        text, letter = found[0], found[1]
        if letter:
            number = FIELDS[letter](moment)
            texts.append(f"{number % 100 if text == 'yy' else number:0{len(text)}d}")
        elif text.startswith("'"):
            texts.append("'" if text == "''" else text[1:-1].replace("''", "'"))
        else:
            texts.append(text)
    return "".join(texts)
