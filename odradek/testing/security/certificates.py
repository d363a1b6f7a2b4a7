"""Certificates for tests of TLS, issued by a certificate authority that the test makes itself.

Owns: the fields of the certificates. Never for production: keys are not protected, and nothing is revoked. The package
``cryptography`` does the work (the extra ``security`` brings it).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
DAYS = 365


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A private key and its certificate chain, without the root certificate."""

    key: PrivateKey = field(repr=False)
    certificates: tuple[x509.Certificate, ...] = field(repr=False)

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate of the key: the first of the chain."""
        return self.certificates[0]

    def key_pem(self, password: str | None = None) -> str:
        """The private key as PKCS#8 in PEM, which Kafka requires; encrypted if there is a password."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)).decode()

    @property
    def chain_pem(self) -> str:
        """The certificate chain in PEM, the certificate of the key first."""
        return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in self.certificates)

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        """Writes the key and the certificate chain into one file: a key store of the type PEM."""
        path.touch(mode=0o600)
        path.write_text(self.key_pem(password) + self.chain_pem, encoding="ascii")
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        """Writes the key and the certificate chain as a PKCS#12 store."""
        others = self.certificates[1:]
        data = pkcs12.serialize_key_and_certificates(
            b"kafka", self.key, self.certificate, others, BestAvailableEncryption(password.encode())
        )
        path.touch(mode=0o600)
        path.write_bytes(data)
        return path


class CertificateAuthority:
    """Issues certificates. Each object is a root of its own: one does not trust certificates of another."""

    def __init__(self, name: str = "Odradek test authority", *, days: int = DAYS) -> None:
        """``days``: how long its certificate is valid; a negative number makes an expired one."""
        self.key = ec.generate_private_key(ec.SECP256R1())
        subject = common_name(name)
        self.certificate = _builder(subject, subject, self.key, days, is_authority=True).sign(self.key, hashes.SHA256())
        self.intermediates: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        """The authority's own certificate: a trust store of the type PEM."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def write_pem(self, path: Path) -> Path:
        """Writes the authority's certificate as a trust store of the type PEM."""
        path.write_text(self.pem, encoding="ascii")
        return path

    def issue(
        self,
        subject: x509.Name | str,
        hosts: Sequence[str] = (),
        *,
        key: PrivateKey | None = None,
        days: int = DAYS,
    ) -> IssuedCertificate:
        """Issues a certificate for a server or a client.

        ``subject``: a distinguished name, or the common name alone. ``hosts``: the host names and IP addresses of a
        server. ``key``: None makes a new one. ``days``: how long it is valid; a negative number makes an expired one.
        """
        key = key or ec.generate_private_key(ec.SECP256R1())
        name = common_name(subject) if isinstance(subject, str) else subject
        builder = _builder(name, self.certificate.subject, key, days, is_authority=False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), False)
        return IssuedCertificate(key, (builder.sign(self.key, hashes.SHA256()), *self.intermediates))

    def subordinate(self, name: str, *, days: int = DAYS) -> "CertificateAuthority":
        """An intermediate authority, certified by this one. What it issues has its certificate in the chain.

        ``days``: how long its certificate is valid; a negative number makes an expired one.
        """
        below = CertificateAuthority(name)
        builder = _builder(below.certificate.subject, self.certificate.subject, below.key, days, is_authority=True)
        below.certificate = builder.sign(self.key, hashes.SHA256())
        below.intermediates = (below.certificate, *self.intermediates)
        return below


def common_name(text: str) -> x509.Name:
    """A distinguished name that has only a common name (CN)."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    """An RSA key. It takes about 50 ms to make."""
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: PrivateKey, days: int, *, is_authority: bool
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=abs(days) + 1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return NoEncryption() if password is None else BestAvailableEncryption(password.encode())
