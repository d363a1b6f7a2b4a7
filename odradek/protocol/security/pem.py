"""Certificates and keys in PEM, from files and from values of configuration keys. Pure.

Owns: finding the blocks, with their lines. Invariants: text around the blocks is ignored; a value may have its line
breaks replaced by spaces, as in a properties file; private keys are PKCS#8. Source:
``DefaultSslEngineFactory.PemStore``.
"""

import base64
import binascii
import re
from dataclasses import dataclass, field

from .der import StoreError

CERTIFICATE = "CERTIFICATE"
PRIVATE_KEY = "PRIVATE KEY"
ENCRYPTED_PRIVATE_KEY = "ENCRYPTED PRIVATE KEY"

_BEGIN = re.compile(r"-{5}BEGIN +([A-Z0-9 ]+?) *-{5}")
_HEADERS = re.compile(r"\s*(?:[A-Za-z0-9-]+:[^\r\n]*[\r\n]+)+")
_CONVERT = "convert it with `openssl pkcs8 -topk8 -in KEY -out NEW_KEY` (add -nocrypt for no password)"


@dataclass(frozen=True, slots=True)
class PemBlock:
    """One block: its label, the line of its first byte (from 1), and its content."""

    label: str
    line: int
    der: bytes = field(repr=False)


def blocks(text: str) -> list[PemBlock]:
    """All blocks of a text. Raises StoreError, with the line, for a block that does not end or is not Base64."""
    found = []
    position = 0
    while (begin := _BEGIN.search(text, position)) is not None:
        line = text.count("\n", 0, begin.start()) + 1
        label = begin[1]
        end = re.compile(rf"-----END +{re.escape(label)} *-----").search(text, begin.end())
        if end is None:
            raise StoreError(f"line {line}: BEGIN {label} has no END {label}")
        content = text[begin.end() : end.start()]
        headers = _HEADERS.match(content)
        if headers is not None:
            content = content[headers.end() :]
        try:
            der = base64.b64decode("".join(content.split()), validate=True)
        except (binascii.Error, ValueError):
            raise StoreError(f"line {line}: the content of {label} is not Base64") from None
        found.append(PemBlock(label, line, der))
        position = end.end()
    return found


def certificates(text: str) -> tuple[bytes, ...]:
    """The certificates of a text as DER, in their order. Raises StoreError if there is none."""
    found = tuple(block.der for block in blocks(text) if block.label.endswith(CERTIFICATE))
    if not found:
        raise StoreError("no certificate (-----BEGIN CERTIFICATE-----) in it")
    return found


def private_key(text: str) -> PemBlock:
    """The one private key of a text. Raises StoreError if there is none, several, or one that is not PKCS#8."""
    found = [block for block in blocks(text) if block.label.endswith(PRIVATE_KEY)]
    if not found:
        raise StoreError("no private key (-----BEGIN PRIVATE KEY-----) in it")
    if len(found) > 1:
        raise StoreError(f"line {found[1].line}: a second private key, only one is allowed")
    key = found[0]
    if key.label not in (PRIVATE_KEY, ENCRYPTED_PRIVATE_KEY):
        raise StoreError(f"line {key.line}: {key.label} is not PKCS#8, which Kafka requires: {_CONVERT}")
    return key


def written(label: str, der: bytes) -> bytes:
    """One block of PEM."""
    return b"-----BEGIN %s-----\n%s-----END %s-----\n" % (label.encode(), base64.encodebytes(der), label.encode())
