"""Reads key stores and trust stores for Kafka's ``ssl.*`` configs: PEM, PKCS12 and JKS.

Owns: recognizing the format by the first bytes; ``ssl.keystore.type`` is not used (Java does the same for JKS and
PKCS12). Never does: logging, writing. Invariant: ``repr`` does not show secrets. Source: ``DefaultSslEngineFactory``.
"""

from dataclasses import dataclass, field
from pathlib import Path

from . import jks, pem, pkcs12
from .der import StoreError

_MAX_STORE_BYTES = 16 << 20
"""The largest file that is accepted as a store. A wrong path, such as a log or a device, is not read completely."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A private key with its certificates."""

    key: bytes = field(repr=False)
    """PKCS#8 as DER; encrypted if there is a password."""
    password: str | None = field(repr=False)
    is_encrypted: bool
    chain: tuple[bytes, ...] = field(repr=False)
    """The certificates as DER, the key's own one first."""

    def as_pem(self) -> bytes:
        """The key and the certificates as PEM, which OpenSSL reads."""
        label = pem.ENCRYPTED_PRIVATE_KEY if self.is_encrypted else pem.PRIVATE_KEY
        return pem.written(label, self.key) + b"".join(
            pem.written(pem.CERTIFICATE, certificate) for certificate in self.chain
        )


def read_file(path: str) -> bytes:
    """The bytes of a store. Raises StoreError if the file can't be read, or is too large for a store."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_STORE_BYTES + 1)
    except OSError as error:
        raise StoreError(f"can't be read: {error.strerror or error}") from None
    if len(data) > _MAX_STORE_BYTES:
        raise StoreError(f"is larger than {_MAX_STORE_BYTES} bytes: it is not a key store")
    if not data:
        raise StoreError("is empty")
    return data


def is_pem(data: bytes) -> bool:
    """Whether a store's bytes are PEM: neither JKS nor DER."""
    return data[:4] not in (jks.MAGIC, jks.JCEKS_MAGIC) and data[:1] != b"\x30"


def key_entry(data: bytes, store_password: str | None, key_password: str | None) -> KeyEntry:
    """The private key of a store, with its certificates. Raises StoreError."""
    if is_pem(data):
        text = data.decode("latin-1")
        return pem_key_entry(text, text, key_password)
    if data[:1] == b"\x30":
        store = pkcs12.read(data, store_password)
        if store.key is None or store.certificate is None:
            raise StoreError("no private key with a certificate in it")
        return KeyEntry(store.key, None, False, pkcs12.chain_of(store.certificate, store.others))
    entries = jks.read(data, store_password).keys
    if not entries:
        raise StoreError("no private key in it")
    entry = entries[0]
    if not entry.chain:
        raise StoreError(f"entry {entry.alias!r}: the key has no certificate")
    password = key_password if key_password is not None else store_password
    return KeyEntry(jks.unprotected(entry, password or ""), None, False, entry.chain)


def pem_key_entry(key_text: str, chain_text: str, key_password: str | None) -> KeyEntry:
    """The private key and its certificates from PEM. Raises StoreError."""
    key = pem.private_key(key_text)
    is_encrypted = key.label == pem.ENCRYPTED_PRIVATE_KEY
    if is_encrypted and key_password is None:
        raise StoreError(f"line {key.line}: the private key is encrypted, and ssl.key.password is not set")
    return KeyEntry(key.der, key_password, is_encrypted, pem.certificates(chain_text))


def trusted_certificates(data: bytes, store_password: str | None) -> tuple[bytes, ...]:
    """The certificates (DER) that a trust store trusts, at least one. Raises StoreError.

    As in Java, these include the certificate of each private key, but not the rest of its chain.
    """
    if is_pem(data):
        return pem.certificates(data.decode("latin-1"))
    if data[:1] == b"\x30":
        contents = pkcs12.read(data, store_password)
        own = contents.certificate
        trusted = contents.others if own is None else (own,)
    else:
        store = jks.read(data, store_password)
        trusted = store.trusted + tuple(key.chain[0] for key in store.keys if key.chain)
    if not trusted:
        raise StoreError("no trusted certificate in it")
    return trusted
