"""Divides received ciphertext into pieces of few TLS records.

Pure. Owns: where the current record ends. Never does: decryption. Invariants: a piece has at most PIECE_RECORDS records
and about PIECE_BYTES bytes, so that one call of OpenSSL does little work, however small the records are (a read
continues over records without data, such as KeyUpdate, until it finds data or the end of its input); the bytes are not
changed. What is not TLS passes as it is: OpenSSL refuses it. Source: RFC 8446, section 5.1; RFC 5246, section 6.2.1.
"""

PIECE_BYTES = 32 * 1024
"""The most ciphertext or plaintext that is given to OpenSSL at a time: two large records."""
PIECE_RECORDS = 16
"""The most records of a piece. A KeyUpdate costs 16 us and a record of one byte 4 us."""
HEADER_BYTES = 5


class RecordPieces:
    """The borders of the records in the ciphertext of one connection."""

    __slots__ = ("_header", "_missing", "records")

    def __init__(self) -> None:
        self._header = b""
        """The first bytes of the current record's header, if the rest has not arrived."""
        self._missing = 0
        """The number of bytes that the current record still needs."""
        self.records = 0
        """The number of records that end in the last piece."""

    def end_of_piece(self, ciphertext: memoryview | bytes, start: int) -> int:
        """Returns where the piece that begins at ``start`` ends. Each byte must be passed once, in order."""
        size, position, missing, records = len(ciphertext), start, self._missing, 0
        latest = min(size, start + PIECE_BYTES)
        while position < latest and records < PIECE_RECORDS:
            if missing:
                left = latest - position
                if missing > left:
                    missing -= left
                    position = latest
                    break
                position += missing
                missing = 0
                records += 1
            elif self._header or size - position < HEADER_BYTES:
                head = self._header + bytes(ciphertext[position : position + HEADER_BYTES - len(self._header)])
                position += len(head) - len(self._header)
                self._header = head if len(head) < HEADER_BYTES else b""
                if not self._header:
                    missing = head[3] << 8 | head[4]
                    records += not missing
            else:
                missing = ciphertext[position + 3] << 8 | ciphertext[position + 4]
                position += HEADER_BYTES
                records += not missing
        self._missing = missing
        self.records = records
        return position
