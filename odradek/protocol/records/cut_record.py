"""Reads a record that begins in one decompressed chunk and ends in a later one.

Owns: the step from one chunk to the next. Invariants: at most one chunk is held, and one copy of a value that is taken;
no memory is allocated based on a length in the data. Malformed bytes raise InvalidRecordError. Pure.
"""

from collections.abc import Iterator
from io import BytesIO

from .errors import InvalidRecordError
from .varint import MAX_VARINT_SIZE, decode_varint, decode_varlong


class CutRecord:
    """A cursor over one record that begins in `data` and ends in a later chunk."""

    __slots__ = ("_chunks", "_size", "_taken", "data", "position")

    def __init__(self, data: bytes, position: int, size: int, chunks: Iterator[bytes]) -> None:
        """The record has `size` bytes without its length field; `position` is the byte after that field."""
        self._chunks = chunks
        self._size = size
        self._taken = 0
        self.data = data
        self.position = position

    @property
    def remaining(self) -> int:
        """The number of bytes of the record that have not been read."""
        return self._size - self._taken

    def number(self, most: int) -> int:
        """The next zigzag number, which has at most `most` bytes. Raises InvalidRecordError, IndexError at the end."""
        while len(self.data) - self.position < most:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self.data = self.data[self.position :] + chunk
            self.position = 0
        decode = decode_varint if most == MAX_VARINT_SIZE else decode_varlong
        number, position = decode(self.data, self.position)
        self._taken += position - self.position
        self.position = position
        return number

    def header_count(self) -> int:
        """Reads the number of headers. Raises InvalidRecordError if the record has no room for that many."""
        count = self.number(MAX_VARINT_SIZE)
        if not 0 <= count <= self.remaining:
            raise InvalidRecordError(f"Found invalid number of record headers {count}")
        return count

    def header_key_size(self) -> int:
        """Reads the size of a header's key. Raises InvalidRecordError for null, or a size beyond the record's end."""
        length = self.number(MAX_VARINT_SIZE)
        if not 0 <= length <= self.remaining:
            raise InvalidRecordError(f"Invalid header key size {length}")
        return length

    def value(self) -> bytes | None:
        """Reads a length and that many bytes; None for null. Raises InvalidRecordError."""
        length = self.number(MAX_VARINT_SIZE)
        return None if length < 0 else self.take(length)

    def skip_value(self) -> bool:
        """Skips a length and that many bytes; returns False for null. Raises InvalidRecordError."""
        length = self.number(MAX_VARINT_SIZE)
        if length >= 0:
            self.skip(length)
        return length >= 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes. Raises InvalidRecordError if the record or the chunks end before."""
        start, end = self.position, self.position + count
        if end <= len(self.data):
            self._advance(count)
            self.position = end
            return self.data[start:end]
        self._advance(count)
        # BytesIO grows in place, and getvalue() returns its buffer without a copy: a large value exists only once.
        gathered = BytesIO()
        missing = count
        while missing > len(self.data) - self.position:
            missing -= gathered.write(memoryview(self.data)[self.position :])
            self._next_chunk()
        gathered.write(memoryview(self.data)[self.position : self.position + missing])
        self.position += missing
        return gathered.getvalue()

    def pieces(self, count: int) -> Iterator[bytes]:
        """As `take`, but yields the bytes in one piece for each chunk."""
        self._advance(count)
        missing = count
        while missing > len(self.data) - self.position:
            piece = self.data[self.position :]
            missing -= len(piece)
            yield piece
            self._next_chunk()
        yield self.data[self.position : self.position + missing]
        self.position += missing

    def skip(self, count: int) -> None:
        """Skips `count` bytes. Raises InvalidRecordError if the record or the chunks end before."""
        self._advance(count)
        position = self.position + count
        while position > len(self.data):
            position -= len(self.data)
            self._next_chunk()
        self.position = position

    def finish(self) -> None:
        """Raises InvalidRecordError if the record was not read to its end."""
        if self._taken != self._size:
            raise InvalidRecordError(f"record of {self._size} bytes ends after {self._taken} bytes")

    def _advance(self, count: int) -> None:
        self._taken += count
        if self._taken > self._size:
            raise InvalidRecordError(f"record of {self._size} bytes ends after {self._taken} bytes")

    def _next_chunk(self) -> None:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise InvalidRecordError("records end inside a record")
        self.data, self.position = chunk, 0
