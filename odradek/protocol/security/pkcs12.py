"""Reads PKCS#12 stores with the package ``cryptography``, which is imported with the first one.

Owns: what of a store is used. Never does: writing one. Source: RFC 7292; how Java makes trust anchors of a store:
``sun.security.validator.TrustStoreUtil``.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from ..common.lazy_imports import lazy_imports
from .der import StoreError

with suppress(ImportError), lazy_imports:  # key stores in PEM and JKS do without it
    import cryptography

MISSING = "PKCS#12 stores are read by the package cryptography, which is not installed: pip install cryptography"


@dataclass(frozen=True, slots=True)
class Pkcs12Store:
    """The contents of a store; all parts may be empty."""

    key: bytes | None = field(repr=False)
    """The private key as PKCS#8."""
    certificate: bytes | None = field(repr=False)
    """The key's own certificate, as DER."""
    others: tuple[bytes, ...] = field(repr=False)
    """The other certificates, as DER: of the key's chain, or trusted ones."""


def read(data: bytes, password: str | None) -> Pkcs12Store:
    """The contents of a store. Raises StoreError for a damaged file, a wrong password, or without cryptography."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise StoreError(MISSING) from None
    try:
        store = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError as error:
        raise StoreError(f"the password is wrong, or the file is not a PKCS#12 store ({_one_line(error)})") from None
    except UnsupportedAlgorithm as error:
        raise StoreError(f"its encryption is not supported ({_one_line(error)})") from None
    encoding = serialization.Encoding.DER
    key = None
    if store.key is not None:
        nothing = serialization.NoEncryption()
        key = store.key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, nothing)
    own = None if store.cert is None else store.cert.certificate.public_bytes(encoding)
    return Pkcs12Store(
        key, own, tuple(certificate.certificate.public_bytes(encoding) for certificate in store.additional_certs)
    )


def chain_of(leaf: bytes, others: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The certificates from a leaf to the last issuer among ``others``."""
    by_subject = {
        cryptography.x509.load_der_x509_certificate(certificate).subject: certificate for certificate in others
    }
    chain = [leaf]
    issuer = cryptography.x509.load_der_x509_certificate(leaf).issuer
    while (following := by_subject.pop(issuer, None)) is not None and following != leaf:
        chain.append(following)
        issuer = cryptography.x509.load_der_x509_certificate(following).issuer
    return tuple(chain)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
