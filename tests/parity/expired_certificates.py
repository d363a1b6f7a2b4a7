"""Key stores and trust stores in which a certificate has expired, and a client with such a key store."""

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from odradek.testing.security.certificates import CertificateAuthority, IssuedCertificate

HOSTS = ("localhost", "127.0.0.1")
API_VERSIONS = bytes.fromhex("0000000c 0012 0000 00000001 0002 6161")
"""A request with its length: ApiVersions 0, correlation id 1, client id ``aa``."""
VALID, LEAF, INTERMEDIATE, ROOT = "valid", "expired", "expired-intermediate", "expired-root"
INTERMEDIATE_NOT_SENT = "expired-intermediate-not-sent"
KEY_STORES = (VALID, LEAF, INTERMEDIATE, INTERMEDIATE_NOT_SENT, ROOT)
"""The key stores, by what has expired in the chain. Without the intermediate certificate, INTERMEDIATE_NOT_SENT is as
INTERMEDIATE."""
TRUST_ROOT, TRUST_INTERMEDIATE, TRUST_OLD_ROOT = "trusts-root", "trusts-expired-intermediate", "trusts-expired-root"
TRUST_STORES = (TRUST_ROOT, TRUST_INTERMEDIATE, TRUST_OLD_ROOT)
"""The trust stores. The second one also has the valid root."""


@dataclass(frozen=True, slots=True)
class ExpiredFiles:
    """The stores, as PEM files in one directory."""

    directory: Path

    def of(self, store: str) -> str:
        """The path of a store."""
        return str(self.directory / f"{store}.pem")

    def listener(self, key_store: str, trust_store: str, prefix: str = "") -> dict[str, str]:
        """A broker's configs for TLS with these stores; it requires certificates of clients."""
        return {
            f"{prefix}ssl.keystore.type": "PEM",
            f"{prefix}ssl.keystore.location": self.of(key_store),
            f"{prefix}ssl.truststore.type": "PEM",
            f"{prefix}ssl.truststore.location": self.of(trust_store),
            f"{prefix}ssl.client.auth": "required",
        }


def expired_files(directory: Path) -> ExpiredFiles:
    """Makes the certificates and writes the stores."""
    root, old_root = CertificateAuthority("root"), CertificateAuthority("old root", days=-2)
    old_intermediate = root.subordinate("old intermediate", days=-2)
    below_old = old_intermediate.issue("peer", HOSTS)
    chains = {
        VALID: root.subordinate("intermediate").issue("peer", HOSTS),
        LEAF: root.issue("peer", HOSTS, days=-2),
        INTERMEDIATE: below_old,
        INTERMEDIATE_NOT_SENT: IssuedCertificate(below_old.key, below_old.certificates[:1]),
        ROOT: old_root.issue("peer", HOSTS),
    }
    trusted = {
        TRUST_ROOT: root.pem,
        TRUST_INTERMEDIATE: root.pem + old_intermediate.pem,
        TRUST_OLD_ROOT: old_root.pem,
    }
    files = ExpiredFiles(directory)
    for name, issued in chains.items():
        issued.write_pem(Path(files.of(name)))
    for name, text in trusted.items():
        Path(files.of(name)).write_text(text)
    return files


def is_served(port: int, key_store: str) -> bool:
    """Whether a client with this key store gets an answer. It does not verify the broker's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(key_store)
    try:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain) as connection,
        ):
            connection.sendall(API_VERSIONS)
            return len(connection.recv(4)) == 4
    except (ssl.SSLError, ConnectionError):  # with TLS 1.3 the refusal comes after the client's handshake
        return False
