"""Java's properties format: parses the text of server.properties. Source: java.util.Properties.load.

Pure: text goes in, entries come out. Keys and values are separated by ``=``, ``:`` or white space; ``#`` and ``!``
begin a comment line; a line that ends in an odd number of backslashes continues in the next one; ``\\t \\n \\r \\f
\\uXXXX`` are characters and any other escaped character stands for itself.
"""

import re
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPE = re.compile(r"\\(u(?P<code>[0-9a-fA-F]{4})|(?P<other>.|$))", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"
_KEY_AND_VALUE = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key and its value, with the number of the line that it begins on (from 1)."""

    key: str
    value: str
    line: int


def decode_properties(data: bytes) -> str:
    """The text of a properties file: UTF-8, with or without a byte order mark, or ISO-8859-1 if it is not UTF-8.

    Java reads ISO-8859-1 only, but editors write UTF-8. The two agree on ASCII.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


def parse_properties(text: str) -> list[Entry]:
    """The entries of a properties text in order. A key that occurs twice has two entries; the last one takes effect.

    Raises ValueError, with the line, for a ``\\u`` without four hexadecimal digits.
    """
    entries = []
    for number, line in _logical_lines(text):
        match = _KEY_AND_VALUE.fullmatch(line)
        assert match is not None, "every line has a key and a value, possibly empty"
        try:
            entries.append(Entry(_unescape(match["key"]), _unescape(match["value"]), number))
        except ValueError as malformed:
            raise ValueError(f"line {number}: {malformed}") from None
    return entries


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines with their continuations joined; comments and blank lines left out."""
    found: list[tuple[int, str]] = []
    first, so_far = 0, ""
    naturals = _LINE_END.split(text)
    for number, natural in enumerate(naturals, 1):
        line = natural.lstrip(_BLANK)
        # As in Java, a continuation line is a comment only if the lines before had nothing but the backslash.
        if not so_far and (not line or line[0] in "#!"):
            continue
        first = first if so_far else number
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        so_far += line[:-1] if goes_on else line
        if not goes_on or (number == len(naturals)):
            found.append((first, so_far))
            so_far = ""
    return found


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    # Java's characters are UTF-16 code units: two escapes may be the surrogate pair of one character.
    # An unpaired surrogate raises UnicodeDecodeError, a ValueError.
    return _ESCAPE.sub(_character, text).encode("utf-16", "surrogatepass").decode("utf-16")


def _character(match: re.Match[str]) -> str:
    if match["code"]:
        return chr(int(match["code"], 16))
    other = match["other"]
    if other == "u":
        raise ValueError("Malformed \\uxxxx encoding.")
    return _NAMED.get(other, other)
