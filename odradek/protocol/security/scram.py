"""SCRAM-SHA-256 and SCRAM-SHA-512: the four messages, the keys, the proofs.

    client-first  n,,n=alice,r=NONCE            (extensions: ,tokenauth=true)
    server-first  r=NONCE+SERVERNONCE,s=SALT,i=4096
    client-final  c=biws,r=NONCE+SERVERNONCE,p=PROOF
    server-final  v=SIGNATURE

Pure: nonces and salts are passed in. Names and passwords are not normalised (no SASLprep), as in Kafka. Keys, proofs
and passwords do not show in ``repr``. Source: RFC 5802, ``ScramMessages``, ``ScramFormatter``, ``ScramMechanism``.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from .scram_credential import ScramCredential

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384
MESSAGE_MAX_BYTES = 16 * 1024
"""The longest message that is read. Names and nonces have some dozen characters."""


class ScramMechanism(NamedTuple):
    """``type``: its number in records and requests. ``hash``: its name in hashlib."""

    name: str
    type: int
    hash: str


SHA_256 = ScramMechanism("SCRAM-SHA-256", 1, "sha256")
SHA_512 = ScramMechanism("SCRAM-SHA-512", 2, "sha512")
MECHANISMS: Mapping[str, ScramMechanism] = MappingProxyType(
    {mechanism.name: mechanism for mechanism in (SHA_256, SHA_512)}
)
MECHANISMS_BY_TYPE: Mapping[int, ScramMechanism] = MappingProxyType(
    {mechanism.type: mechanism for mechanism in MECHANISMS.values()}
)


class ScramError(ValueError):
    """A message or a proof that is wrong. The text shows nothing of it."""


class ClientFirst(NamedTuple):
    """The client's first message. ``extensions``: as they are written, with a comma before each."""

    name: str
    nonce: str
    authorization_id: str = ""
    extensions: str = ""

    @property
    def bare(self) -> str:
        """The part that is signed."""
        return f"n={encode_name(self.name)},r={self.nonce}{self.extensions}"

    @property
    def is_by_token(self) -> bool:
        """Whether the name is the id of a delegation token."""
        pairs = (extension.partition("=") for extension in self.extensions.split(",")[1:])
        return {key: value for key, _, value in pairs}.get("tokenauth", "").lower() == "true"

    def encode(self) -> bytes:
        """The message."""
        authorization_id = f"a={encode_name(self.authorization_id)}" if self.authorization_id else ""
        return f"n,{authorization_id},{self.bare}".encode()


class ServerFirst(NamedTuple):
    """The server's first message. ``nonce``: the client's, then the server's."""

    nonce: str
    salt: bytes
    iterations: int

    @property
    def text(self) -> str:
        """The message."""
        return f"r={self.nonce},s={_base64(self.salt)},i={self.iterations}"


class ClientFinal(NamedTuple):
    """The client's final message. ``binding``: the first message's header, ``n,,``."""

    binding: bytes
    nonce: str
    proof: bytes = b""

    @property
    def without_proof(self) -> str:
        """The part that is signed."""
        return f"c={_base64(self.binding)},r={self.nonce}"

    def encode(self) -> bytes:
        """The message."""
        return f"{self.without_proof},p={_base64(self.proof)}".encode()

    def __repr__(self) -> str:
        return "ClientFinal(...)"


class ServerFinal(NamedTuple):
    """The server's final message: a signature, or an error."""

    signature: bytes = b""
    error: str | None = None

    def encode(self) -> bytes:
        """The message."""
        return (f"v={_base64(self.signature)}" if self.error is None else f"e={self.error}").encode()

    def __repr__(self) -> str:
        return f"ServerFinal(error={self.error!r})"


_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_RESERVED = rf"(?:m={_VALUE},)?"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST = re.compile(rf"n,(?:a=({_NAME}))?,{_RESERVED}n=({_NAME}),r=({_PRINTABLE})({_EXTENSIONS})")
_SERVER_FIRST = re.compile(rf"{_RESERVED}r=({_PRINTABLE}),s=({_BASE64}),i=([0-9]+){_EXTENSIONS}")
_CLIENT_FINAL = re.compile(rf"c=({_BASE64}),r=({_PRINTABLE}){_EXTENSIONS},p=({_BASE64})")
_SERVER_FINAL = re.compile(rf"(?:e=([\x01-\x2b\x2d-\x3c\x3e-\x7f]+))|(?:v=({_BASE64})){_EXTENSIONS}")


def decode_client_first(data: bytes) -> ClientFirst:
    """Parses the client's first message. Leaves out a part ``m=``, as Kafka does. Raises ScramError."""
    found = _match(_CLIENT_FIRST, data, "client first")
    return ClientFirst(decode_name(found[2]), found[3], decode_name(found[1] or ""), found[4])


def decode_server_first(data: bytes) -> ServerFirst:
    """Parses the server's first message. Raises ScramError."""
    found = _match(_SERVER_FIRST, data, "server first")
    if len(found[3]) > 9 or int(found[3]) == 0:
        raise ScramError("Invalid SCRAM server first message format: invalid iterations")
    return ServerFirst(found[1], base64.b64decode(found[2]), int(found[3]))


def decode_client_final(data: bytes) -> ClientFinal:
    """Parses the client's final message. Raises ScramError."""
    found = _match(_CLIENT_FINAL, data, "client final")
    return ClientFinal(base64.b64decode(found[1]), found[2], base64.b64decode(found[3]))


def decode_server_final(data: bytes) -> ServerFinal:
    """Parses the server's final message. Raises ScramError."""
    found = _match(_SERVER_FINAL, data, "server final")
    if found[1] is not None:
        return ServerFinal(error=found[1])
    return ServerFinal(base64.b64decode(found[2]))


def _match(pattern: re.Pattern[str], data: bytes, what: str) -> re.Match[str]:
    # Latin-1 keeps each byte a character: every byte from 0x80 on is refused, as in Kafka.
    found = pattern.fullmatch(data.decode("latin-1")) if len(data) <= MESSAGE_MAX_BYTES else None
    if found is None:
        raise ScramError(f"Invalid SCRAM {what} message format")
    return found


def encode_name(name: str) -> str:
    """A user's name as it is sent: ``=`` is ``=3D``, a comma ``=2C``."""
    return name.replace("=", "=3D").replace(",", "=2C")


def decode_name(text: str) -> str:
    """A user's name from its sent form, the inverse of :func:`encode_name`."""
    return text.replace("=2C", ",").replace("=3D", "=")


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """The slow hash of a password: 3 ms for 4,096 iterations."""
    return hashlib.pbkdf2_hmac(mechanism.hash, password.encode(), salt, iterations)


def credential_of(mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """What a server stores, from :func:`salted_password`."""
    stored_key = hashlib.new(mechanism.hash, client_key(mechanism, salted)).digest()
    return ScramCredential(salt, stored_key, server_key(mechanism, salted), iterations)


def client_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """The key that only the client knows."""
    return hmac.digest(salted, b"Client Key", mechanism.hash)


def server_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """The key with which the server signs."""
    return hmac.digest(salted, b"Server Key", mechanism.hash)


def signed_text(first: ClientFirst, answer: ServerFirst, final: ClientFinal) -> bytes:
    """What both sides sign."""
    return f"{first.bare},{answer.text},{final.without_proof}".encode()


def client_proof(mechanism: ScramMechanism, salted: bytes, signed: bytes) -> bytes:
    """The client's proof that it knows the password."""
    key = client_key(mechanism, salted)
    stored_key = hashlib.new(mechanism.hash, key).digest()
    return _xor(key, hmac.digest(stored_key, signed, mechanism.hash))


def verify_proof(mechanism: ScramMechanism, stored_key: bytes, signed: bytes, proof: bytes) -> bool:
    """Whether the proof fits the stored key. Takes the same time for each proof of the right length."""
    signature = hmac.digest(stored_key, signed, mechanism.hash)
    if len(proof) != len(signature):
        return False
    key = _xor(proof, signature)
    return hmac.compare_digest(hashlib.new(mechanism.hash, key).digest(), stored_key)


def server_signature(mechanism: ScramMechanism, key: bytes, signed: bytes) -> bytes:
    """The server's proof that it knows the stored keys. Clients compare it in constant time."""
    return hmac.digest(key, signed, mechanism.hash)


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(len(one), "big")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
