"""Converts lines of text to records, as Kafka's console producer does (``LineMessageReader`` and its properties).

Pure. Works on bytes, so that any value can be sent; separators are UTF-8.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..types import Header


class LineError(ValueError):
    """A line without the parts that the properties require."""


class LineFormat(NamedTuple):
    """The properties ``parse.key``, ``key.separator``, ``parse.headers``, ``headers.delimiter``, ``headers.separator``,
    ``headers.key.separator``, ``null.marker`` and ``ignore.error``.
    """

    parse_key: bool = False
    key_separator: bytes = b"\t"
    parse_headers: bool = False
    headers_delimiter: bytes = b"\t"
    headers_separator: bytes = b","
    headers_key_separator: bytes = b":"
    null_marker: bytes | None = None
    ignore_error: bool = False

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "LineFormat":
        """Parses Kafka's properties. Raises ValueError for unknown or contradictory ones."""
        known = {
            "parse.key",
            "key.separator",
            "parse.headers",
            "headers.delimiter",
            "headers.separator",
            "headers.key.separator",
            "null.marker",
            "ignore.error",
        }
        unknown = sorted(set(properties) - known)
        if unknown:
            raise ValueError(f"unknown property {unknown[0]}; known are {', '.join(sorted(known))}")

        def flag(name: str) -> bool:
            return properties.get(name, "false").strip().lower() == "true"

        def text(name: str, default: str) -> bytes:
            return properties.get(name, default).encode()

        made = cls(
            parse_key=flag("parse.key"),
            key_separator=text("key.separator", "\t"),
            parse_headers=flag("parse.headers"),
            headers_delimiter=text("headers.delimiter", "\t"),
            headers_separator=text("headers.separator", ","),
            headers_key_separator=text("headers.key.separator", ":"),
            null_marker=text("null.marker", "") if "null.marker" in properties else None,
            ignore_error=flag("ignore.error"),
        )
        made._check()
        return made

    def _check(self) -> None:
        names = {
            "headers.delimiter": self.headers_delimiter,
            "headers.separator": self.headers_separator,
            "headers.key.separator": self.headers_key_separator,
        }
        seen: dict[bytes, str] = {}
        for name, separator in names.items():
            if separator in seen:
                raise ValueError(f"{seen[separator]} and {name} may not be equal")
            seen[separator] = name
        for name, separator in {"key.separator": self.key_separator, **names}.items():
            if not separator:
                raise ValueError(f"{name} may not be empty")
            if separator == self.null_marker:
                raise ValueError(f"null.marker and {name} may not be equal")

    def parse(self, line: bytes, number: int) -> tuple[bytes | None, bytes | None, list[Header]]:
        """Key, value and headers of a line (without line end). Raises LineError, whose message has ``number``."""
        headers_text, rest = self._cut(self.parse_headers, line, self.headers_delimiter, "headers delimiter", number)
        key, value = self._cut(self.parse_key, rest, self.key_separator, "key separator", number)
        headers: list[Header] = []
        if headers_text is not None and headers_text != self.null_marker:
            headers = [self._header(pair, number) for pair in headers_text.split(self.headers_separator)]
        return self._null(key), self._null(value), headers

    def _null(self, text: bytes | None) -> bytes | None:
        return None if text == self.null_marker else text

    def _cut(
        self, is_present: bool, text: bytes, separator: bytes, name: str, number: int
    ) -> tuple[bytes | None, bytes]:
        if not is_present:
            return None, text
        first, found, rest = text.partition(separator)
        if found:
            return first, rest
        if self.ignore_error:
            return None, text
        raise LineError(f"No {name} found on line number {number}: '{text.decode(errors='replace')}'")

    def _header(self, pair: bytes, number: int) -> Header:
        name, found, value = pair.partition(self.headers_key_separator)
        shown = pair.decode(errors="replace")
        if not found:
            if self.ignore_error:
                return shown, None
            raise LineError(f"No header key separator found in pair '{shown}' on line number {number}")
        if name == self.null_marker:
            raise LineError(f"Header keys should not be equal to the null marker on line number {number}")
        try:
            return name.decode(), self._null(value)
        except UnicodeDecodeError:
            raise LineError(f"The header key of '{shown}' on line number {number} is not UTF-8") from None
