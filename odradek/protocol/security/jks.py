"""Reads Java's own format of key stores (JKS). Pure.

Owns: the format and its protection by passwords. Never does: writing one. Invariants: lengths are checked before they
are used; the digest over the file is checked if there is a password. JCEKS, which may hold serialized Java objects, is
refused. Source: the format of ``sun.security.provider.JavaKeyStore`` and ``KeyProtector``, as keytool writes it.

    FEEDFEED, version, number of entries; for each: 1 (key) or 2 (certificate), alias, time in ms; a key: its length, an
    EncryptedPrivateKeyInfo, the number of certificates of its chain; a certificate: its type, its length, DER;
    at the end: SHA-1 of the password, a constant and all of the above.
"""

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import der
from .der import StoreError

MAGIC = b"\xfe\xed\xfe\xed"
JCEKS_MAGIC = b"\xce\xce\xce\xce"
_DIGEST_BYTES = 20
_WHITENER = b"Mighty Aphrodite"
_KEY_PROTECTOR = "1.3.6.1.4.1.42.2.17.1.1"
_KEY, _CERTIFICATE = 1, 2


@dataclass(frozen=True, slots=True)
class JksKey:
    """A private key encrypted with its password, and its certificate chain (DER), the key's own certificate first."""

    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class JksStore:
    """The entries of a store in the order of the file."""

    keys: tuple[JksKey, ...]
    trusted: tuple[bytes, ...] = field(repr=False)
    """The trusted certificates, as DER."""


def read(data: bytes, password: str | None) -> JksStore:
    """The entries of a store. Without a password its integrity is not checked, as in Java.

    Raises StoreError, with the byte, for another format, a damaged file or a wrong password.
    """
    if data[:4] == JCEKS_MAGIC:
        raise StoreError("it is a JCEKS store, which is not read: convert it with keytool -importkeystore to PKCS12")
    if password is not None:
        check = hashlib.sha1(_utf16(password) + _WHITENER + data[:-_DIGEST_BYTES]).digest()
        if not hmac.compare_digest(check, data[-_DIGEST_BYTES:]):
            raise StoreError("the password is wrong, or the file is damaged")
    reader = _KeyStoreReader(data[:-_DIGEST_BYTES])
    if reader.take(4) != MAGIC:
        raise StoreError("byte 0: it is not a JKS store")
    version = reader.number(4)
    if version not in (1, 2):
        raise StoreError(f"byte 4: JKS version {version} is unknown")
    keys: list[JksKey] = []
    trusted: list[bytes] = []
    for _ in range(reader.number(4)):
        start = reader.position
        tag = reader.number(4)
        alias = reader.text()
        reader.take(8)
        if tag == _KEY:
            protected = reader.take(reader.number(4))
            keys.append(JksKey(alias, protected, tuple(_chain(reader, version))))
        elif tag == _CERTIFICATE:
            trusted.append(_certificate(reader, version))
        else:
            raise StoreError(f"byte {start}: unknown kind of entry {tag}")
    return JksStore(tuple(keys), tuple(trusted))


def unprotected(key: JksKey, password: str) -> bytes:
    """Decrypts a private key; returns it as PKCS#8. Raises StoreError if the password is wrong."""
    try:
        algorithm, encrypted = list(der.element(key.protected).children())
        name = der.dotted(next(algorithm.children()).content)
        content = encrypted.content
    except (ValueError, StopIteration):
        raise StoreError(f"entry {key.alias!r}: the key is damaged") from None
    if name != _KEY_PROTECTOR:
        raise StoreError(f"entry {key.alias!r}: the encryption {name} of the key is not supported")
    salt, hidden, check = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    secret = _utf16(password)
    stream = bytearray()
    digest = salt
    while len(stream) < len(hidden):
        digest = hashlib.sha1(secret + digest).digest()
        stream += digest
    plain = bytes(byte ^ other for byte, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + plain).digest(), check):
        raise StoreError(f"entry {key.alias!r}: the key's password is wrong (ssl.key.password, else the store's)")
    return plain


def _chain(reader: "_KeyStoreReader", version: int) -> Iterator[bytes]:
    for _ in range(reader.number(4)):
        yield _certificate(reader, version)


def _certificate(reader: "_KeyStoreReader", version: int) -> bytes:
    start = reader.position
    kind = reader.text() if version == 2 else "X.509"
    if kind != "X.509":
        raise StoreError(f"byte {start}: unknown type of certificate {kind!r}")
    return reader.take(reader.number(4))


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


class _KeyStoreReader:
    """The fields of a store, one after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        """The next bytes. Raises StoreError if fewer are left."""
        end = self.position + count
        if end > len(self._data):
            raise StoreError(f"byte {self.position}: the file ends, {count} bytes are missing")
        taken = self._data[self.position : end]
        self.position = end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def text(self) -> str:
        return self.take(self.number(2)).decode("utf-8", "replace")
