"""One side of a TLS connection as bytes in, bytes out: OpenSSL over two buffers in memory.

Owns: the handshake, encryption, decryption, alerts. Never does: sockets, tasks, logging. Invariants: a buffer in memory
never gets more than a piece at a time (OpenSSL never shrinks a buffer: a connection has 115 KiB, and would have 420 KiB
with whole messages); renegotiation is refused (the context's option). Source: RFC 8446, RFC 5246,
``SslTransportLayer``.
"""

import contextlib
import ssl
from collections.abc import Callable
from typing import cast

PIECE_BYTES = 32 * 1024
"""The most ciphertext or plaintext that is given to OpenSSL at a time: two large records."""
PIECE_RECORDS = 16
"""The most records of a piece. A KeyUpdate costs 16 us and a record of one byte 4 us."""
HEADER_BYTES = 5


class RecordPieces:
    """The borders of the records in the ciphertext of one connection.

    A piece has at most PIECE_RECORDS records and about PIECE_BYTES bytes, so that one call of OpenSSL does little work,
    however small the records are (a read continues over records without data, such as KeyUpdate, until it finds data or
    the end of its input). The bytes are not changed. What is not TLS passes as it is: OpenSSL refuses it.
    """

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


EMPTY_RECORDS_MAX = 32
"""The most records in a row without data, as in OpenSSL for records of no bytes and in BoringSSL for KeyUpdates."""


class EmptyRecordsError(Exception):
    """The peer sent too many records without data in a row."""

    def __init__(self) -> None:
        super().__init__(f"its client sent more than {EMPTY_RECORDS_MAX} TLS records without data in a row")


class TlsEngine:
    """The TLS of one accepted connection."""

    __slots__ = ("_empty_records", "_incoming", "_object", "_outgoing", "_pieces", "is_at_end")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._pieces = RecordPieces()
        self._empty_records = 0
        """The number of records since the last data. After the handshake only."""
        self.is_at_end = False
        """Whether the peer has said that it sends nothing more (close_notify)."""

    def feed(self, ciphertext: memoryview | bytes, start: int) -> int:
        """Takes a piece of the received bytes, from ``start`` on. Returns where the piece ends."""
        end = self._pieces.end_of_piece(ciphertext, start)
        self._incoming.write(ciphertext[start:end])
        self._empty_records += self._pieces.records
        return end

    def handshake(self) -> bool:
        """Continues the handshake. Returns True when it is finished. Raises ssl.SSLError if it has failed."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self._empty_records = 0
        return True

    def peer_certificate(self) -> bytes | None:
        """The certificate (DER) that the peer has shown and the context has verified; None if it showed none."""
        return self._object.getpeercert(binary_form=True)

    def suite(self) -> str:
        """The agreed cipher suite, under OpenSSL's name."""
        agreed = self._object.cipher()
        return agreed[0] if agreed else ""

    def version(self) -> str:
        """The agreed version, such as TLSv1.3."""
        return self._object.version() or ""

    def read_into(self, target: memoryview) -> int:
        """Decrypts into ``target`` until it is full or nothing is left. Returns the number of bytes.

        Raises ssl.SSLError for what is not TLS, and EmptyRecordsError.
        """
        read = cast("Callable[[int, memoryview], int]", self._object.read)
        filled = 0
        # A read decrypts one record of at most 16 KiB.
        while filled < len(target) and (self._incoming.pending or self._object.pending()):
            try:
                count = read(len(target) - filled, target[filled:])
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                count = 0
            if not count:
                self.is_at_end = True
                break
            filled += count
        if filled:
            self._empty_records = 0
        elif self._empty_records > EMPTY_RECORDS_MAX:
            raise EmptyRecordsError
        return filled

    def encrypt(self, plaintext: bytes | memoryview) -> bytes:
        """Encrypts at most a piece. Returns waiting bytes to send, then its ciphertext. Raises ssl.SSLError."""
        self._object.write(plaintext)
        return self._outgoing.read()

    def take(self) -> bytes:
        """The bytes to be sent that no call has returned yet: handshake, alerts, answers to key updates."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def close(self) -> bytes:
        """The last bytes to be sent: close_notify, or the alert of a failure."""
        with contextlib.suppress(ssl.SSLError):  # the peer's close_notify is not awaited; a failed handshake has no end
            self._object.unwrap()
        return self.take()
