"""Which records a search finds: those that contain its text.

Pure. A search is plain text and never an expression: a filter that runs code has been a way to run any code in other
consoles (CVE-2023-52251).
"""

from typing import NamedTuple

from .record_walk import FoundRecord

PARTS = ("key", "value", "headers")


class Needle(NamedTuple):
    """What to look for. An empty needle is in every record."""

    data: bytes
    """The bytes to find; in lower case unless ``matches_case``."""
    parts: tuple[str, ...] = PARTS
    """Where to look: key, value, headers."""
    matches_case: bool = False

    def finds(self, entry: FoundRecord) -> bool:
        """Whether the record contains the text. A search finds control records only if it is empty."""
        if not self.data:
            return True
        if entry.control:
            return False
        return any(self._is_in(data) for part in self.parts for data in _bytes_of(entry, part))

    def _is_in(self, data: bytes | None) -> bool:
        return data is not None and self.data in (data if self.matches_case else data.lower())


EVERYTHING = Needle(b"")


def needle_of(text: str, parts: tuple[str, ...] = PARTS, *, matches_case: bool = False) -> Needle:
    """The needle for a text. Without ``matches_case``, letters from A to Z are found in either case."""
    data = text.encode()
    return Needle(data if matches_case else data.lower(), parts, matches_case)


def _bytes_of(entry: FoundRecord, part: str) -> list[bytes | None]:
    if part == "key":
        return [entry.key]
    if part == "value":
        return [entry.value]
    return [data for name, value in entry.headers for data in (name.encode(), value)]
