"""Reads DER, the encoding of certificates and keys. Pure.

Owns: tags and lengths. Never does: reading past its input. Invariant: a length that exceeds the input is an error
before anything is copied. Source: X.690.
"""

from collections.abc import Iterator
from typing import NamedTuple

INTEGER, BIT_STRING, OCTET_STRING, OBJECT_IDENTIFIER, SEQUENCE, SET = 0x02, 0x03, 0x04, 0x06, 0x30, 0x31


class Element(NamedTuple):
    """One DER element: its tag, and the positions of its start, of its content and of its end in ``data``."""

    data: bytes
    tag: int
    start: int
    content_start: int
    end: int

    @property
    def content(self) -> bytes:
        """The bytes of the content."""
        return self.data[self.content_start : self.end]

    @property
    def encoded(self) -> bytes:
        """The whole element: tag, length, content."""
        return self.data[self.start : self.end]

    def children(self) -> Iterator["Element"]:
        """The elements within a constructed one. Raises ValueError if the content does not consist of elements."""
        position = self.content_start
        while position < self.end:
            child = element(self.data, position, self.end)
            yield child
            position = child.end


def element(data: bytes, position: int = 0, limit: int | None = None) -> Element:
    """Reads the element at a position. Raises ValueError, with the byte, if it is malformed or ends after ``limit``."""
    limit = len(data) if limit is None else limit
    if position + 2 > limit:
        raise ValueError(f"DER: the data ends at byte {position}")
    tag, length, content = data[position], data[position + 1], position + 2
    if tag & 0x1F == 0x1F:
        raise ValueError(f"DER: an unknown tag at byte {position}")
    if length & 0x80:
        size = length & 0x7F
        if not 1 <= size <= 4 or content + size > limit:
            raise ValueError(f"DER: an invalid length at byte {position}")
        length = int.from_bytes(data[content : content + size], "big")
        content += size
    if content + length > limit:
        raise ValueError(f"DER: the element at byte {position} has {length} bytes, only {limit - content} are left")
    return Element(data, tag, position, content, content + length)


def dotted(content: bytes) -> str:
    """An object identifier in dots, such as 2.5.4.3. Raises ValueError for a malformed one."""
    if not content or content[-1] & 0x80:
        raise ValueError("DER: a malformed object identifier")
    arcs: list[int] = []
    value = 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            arcs.append(value)
            value = 0
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, (first, arcs[0] - 40 * first, *arcs[1:])))


def encoded(tag: int, content: bytes) -> bytes:
    """Encodes an element with this tag and content."""
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(size))) + size + content


class StoreError(ValueError):
    """A key store can't be used. The text says what is wrong and at which line or byte, never a secret."""
