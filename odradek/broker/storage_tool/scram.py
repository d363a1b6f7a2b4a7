"""Makes a SCRAM credential from the text of the option ``--add-scram``.

    SCRAM-SHA-256=[name=alice,password=alice-secret]
    SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]

Pure: the salt is passed in. Source: Kafka's ScramParser, ScramFormatter; RFC 5802.
"""

import base64
import hashlib
import hmac
import re
from typing import NamedTuple

from odradek.protocol.messages.metadata_records import UserScramCredentialRecord

MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
"""SCRAM mechanism -> (its number in the record, the hash algorithm)."""
LEAST_ITERATIONS = 4096
MOST_ITERATIONS = 16384
KNOWN = {"name", "password", "salt", "saltedpassword", "iterations"}
_TEXT = re.compile(r"([^=]+)=\[(.*)\]")
_PART = re.compile(r"\s*([a-z]+)=(\"[^\"]*\"|[^,\"]*)\s*(?:,|$)")


class ScramText(NamedTuple):
    """The parsed text: the mechanism and the ``name=value`` parts."""

    mechanism: str
    parts: dict[str, str]


def scram_record(text: str, salt: bytes) -> UserScramCredentialRecord:
    """The metadata record of the credential. ``salt`` is used if the text has none. Raises ValueError."""
    mechanism, parts = _parse(text)
    kind, algorithm = MECHANISMS[mechanism]
    iterations = int(parts.get("iterations", LEAST_ITERATIONS))
    if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise ValueError(f"The 'iterations' value must be between {LEAST_ITERATIONS} and {MOST_ITERATIONS}")
    if "salt" in parts:
        salt = base64.b64decode(parts["salt"], validate=True)
    if "saltedpassword" in parts:
        salted = base64.b64decode(parts["saltedpassword"], validate=True)
    else:
        salted = hashlib.pbkdf2_hmac(algorithm, parts["password"].encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    return UserScramCredentialRecord(
        name=parts["name"],
        mechanism=kind,
        salt=salt,
        stored_key=hashlib.new(algorithm, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", algorithm),
        iterations=iterations,
    )


def _parse(text: str) -> ScramText:
    """Parses the text, and checks that it has the required parts. Raises ValueError."""
    matched = _TEXT.fullmatch(text.strip())
    if matched is None:
        raise ValueError(f"Failed to parse --add-scram '{text}': expected MECHANISM=[name=...,password=...]")
    mechanism, inner = matched[1], matched[2]
    if mechanism not in MECHANISMS:
        raise ValueError(f"The add-scram mechanism {mechanism} is not supported.")
    parts: dict[str, str] = {}
    position = 0
    while position < len(inner):
        part = _PART.match(inner, position)
        if part is None or part[1] not in KNOWN:
            raise ValueError(f"Failed to parse --add-scram '{text}' at '{inner[position:]}'")
        parts[part[1]] = part[2].strip('"')
        position = part.end()
    if "name" not in parts:
        raise ValueError("You must supply 'name' to add-scram")
    if ("password" in parts) == ("saltedpassword" in parts):
        raise ValueError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if "saltedpassword" in parts and "salt" not in parts:
        raise ValueError("You must supply 'salt' with 'saltedpassword' to add-scram")
    return ScramText(mechanism, parts)
