"""The files of a TLS broker and its clients, and the settings of each client library for them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from odradek.protocol.security import pem
from odradek.testing.security.certificates import CertificateAuthority, IssuedCertificate

ALICE = x509.Name(
    [
        x509.NameAttribute(NameOID.COUNTRY_NAME, "AT"),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Odradek, Inc"),
        x509.NameAttribute(NameOID.COMMON_NAME, "alice"),
    ]
)
ALICE_PRINCIPAL = "User:CN=alice,O=Odradek\\, Inc,C=AT"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The PEM files of the authority, the broker and the client alice."""

    directory: Path
    authority: CertificateAuthority
    server: IssuedCertificate

    @property
    def trust(self) -> str:
        """The path of the trust store."""
        return str(self.directory / "trust.pem")

    @property
    def server_store(self) -> str:
        """The path of the broker's key store."""
        return str(self.directory / "server.pem")

    def listener(self, *, client_auth: str = "none") -> dict[str, str]:
        """The broker's configs for its SSL listeners."""
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.server_store,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.trust,
            "ssl.client.auth": client_auth,
        }

    def kafka_python(self, *, with_key: bool) -> dict[str, Any]:
        """The settings of kafka-python."""
        settings: dict[str, Any] = {"security_protocol": "SSL", "ssl_cafile": self.trust}
        if with_key:
            settings |= {"ssl_certfile": self._of("alice.crt"), "ssl_keyfile": self._of("alice.key")}
        return settings

    def librdkafka(self, *, with_key: bool) -> dict[str, Any]:
        """The settings of confluent-kafka."""
        settings: dict[str, Any] = {"security.protocol": "SSL", "ssl.ca.location": self.trust}
        if with_key:
            settings |= {
                "ssl.certificate.location": self._of("alice.crt"),
                "ssl.key.location": self._of("alice.key"),
            }
        return settings

    def aiokafka(self, *, with_key: bool) -> dict[str, Any]:
        """The settings of aiokafka."""
        from aiokafka.helpers import create_ssl_context

        files = {"certfile": self._of("alice.crt"), "keyfile": self._of("alice.key")} if with_key else {}
        return {"security_protocol": "SSL", "ssl_context": create_ssl_context(cafile=self.trust, **files)}

    def java(self, *, with_key: bool) -> dict[str, str]:
        """The properties of a Java client."""
        settings = {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.trust,
        }
        if with_key:
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self._of("alice.pem")}
        return settings

    def _of(self, name: str) -> str:
        return str(self.directory / name)


def write_unreadable(issued: IssuedCertificate, path: Path) -> None:
    """Writes a PEM key store whose certificate has a malformed time, which OpenSSL does not read at a load."""
    certificate = issued.certificate.public_bytes(Encoding.DER)
    unreadable = re.sub(rb"(?<=\x17\x0d)\d(?=\d{11}Z)", b"x", certificate, count=1)
    assert unreadable != certificate
    path.write_bytes(issued.key_pem().encode() + pem.written(pem.CERTIFICATE, unreadable))


def tls_files(directory: Path) -> TlsFiles:
    """Makes an authority and its certificates, and writes them into a directory."""
    authority = CertificateAuthority()
    authority.write_pem(directory / "trust.pem")
    server = authority.issue("broker", ["localhost", "127.0.0.1"])
    server.write_pem(directory / "server.pem")
    alice = authority.issue(ALICE)
    alice.write_pem(directory / "alice.pem")
    (directory / "alice.key").write_text(alice.key_pem())
    (directory / "alice.crt").write_text(alice.chain_pem)
    return TlsFiles(directory, authority, server)
