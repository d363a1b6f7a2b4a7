"""A TLS 1.3 client that sends any record after its handshake: KeyUpdates, records of one byte, records without data.

Python's ssl module can send none of these, so the records are encrypted here with the keys of the handshake. Source:
RFC 8446, sections 4.6.3, 5.2, 7.1 and 7.2.
"""

import socket
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

HANDSHAKE, ALERT, DATA = 22, 21, 23
SUITES: dict[str, tuple[hashes.HashAlgorithm, int]] = {
    "TLS_AES_256_GCM_SHA384": (hashes.SHA384(), 32),
    "TLS_AES_128_GCM_SHA256": (hashes.SHA256(), 16),
}
"""Cipher suite -> its hash and the bytes of its key."""


class CraftedRecords:
    """The client's records from the first one after its handshake on."""

    def __init__(self, suite: str, secret: bytes) -> None:
        """``secret``: the client's first application traffic secret."""
        self._hash, self._key_bytes = SUITES[suite]
        self._use(secret)

    def record(self, content: bytes, kind: int = DATA, padding: int = 0) -> bytes:
        """One record, encrypted."""
        inner = content + bytes([kind]) + bytes(padding)
        header = b"\x17\x03\x03" + (len(inner) + 16).to_bytes(2, "big")
        nonce = (int.from_bytes(self._iv, "big") ^ self._number).to_bytes(12, "big")
        self._number += 1
        return header + self._cipher.encrypt(nonce, inner, header)

    def data(self, content: bytes, of_bytes: int) -> bytes:
        """Records of ``of_bytes`` bytes each."""
        return b"".join(self.record(content[start : start + of_bytes]) for start in range(0, len(content), of_bytes))

    def key_update(self, asks_for_one: bool = False) -> bytes:
        """A KeyUpdate message. The next record has new keys."""
        sent = self.record(b"\x18\x00\x00\x01" + bytes([asks_for_one]), HANDSHAKE)
        self._use(self._expand(self._secret, b"traffic upd", self._hash.digest_size))
        return sent

    def key_updates(self, size: int, asks_for_one: bool = False) -> bytes:
        """KeyUpdate messages of ``size`` bytes at most."""
        first = self.key_update(asks_for_one)
        return first + b"".join(self.key_update(asks_for_one) for _ in range(size // len(first) - 1))

    def _use(self, secret: bytes) -> None:
        self._secret, self._number = secret, 0
        self._cipher = AESGCM(self._expand(secret, b"key", self._key_bytes))
        self._iv = self._expand(secret, b"iv", 12)

    def _expand(self, secret: bytes, label: bytes, size: int) -> bytes:
        label = b"tls13 " + label
        info = size.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
        return HKDFExpand(self._hash, size, info).derive(secret)


def client_secret(key_log: str) -> bytes:
    """The client's application traffic secret in the last lines of a key log (``SSLKEYLOGFILE``)."""
    [*_, last] = [line for line in key_log.splitlines() if line.startswith("CLIENT_TRAFFIC_SECRET_0 ")]
    return bytes.fromhex(last.split()[2])


class CraftingClient:
    """A client that is connected over TLS 1.3 to a port of this machine."""

    def __init__(self, port: int, trust: str, timeout_s: float = 60) -> None:
        """``trust``: the file of the trusted certificates."""
        context = ssl.create_default_context(cafile=trust)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        with TemporaryDirectory() as folder:
            context.keylog_filename = str(Path(folder) / "keys")
            raw = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
            wrapped = context.wrap_socket(raw, server_hostname="localhost")
            suite = wrapped.cipher()
            assert suite is not None
            self.records = CraftedRecords(suite[0], client_secret((Path(folder) / "keys").read_text()))
        self.socket = socket.socket(fileno=wrapped.detach())
        """The connection below TLS."""
        self.socket.settimeout(timeout_s)

    def close(self) -> None:
        """Closes the socket without a word."""
        self.socket.close()
