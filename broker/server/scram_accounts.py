"""The SCRAM credentials of the metadata, as exchanges ask for them.

Owns: the credentials that unknown users seem to have. Invariant: these stay the same as long as no credential changes,
on each broker of a cluster and across restarts, and computing them takes all stored keys. Source:
``ScramServerCallbackHandler``, ``ScramCredentialCache``.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable
from random import SystemRandom

from ...protocol.security.scram import ITERATIONS_MIN, ScramMechanism
from ...protocol.security.scram_credential import ScramCredential
from ..authentication.scram import ScramAccount
from ..metadata.image import MetadataImage

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
RANDOM_BITS = 130
"""Of a nonce or a salt (``ScramFormatter.secureRandomString``)."""


def random_text() -> str:
    """A nonce: 130 random bits as Kafka writes them."""
    return base_36(SystemRandom().getrandbits(RANDOM_BITS))


def base_36(number: int) -> str:
    """A number in digits and small letters."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


class ImageAccounts:
    """The accounts of one mechanism (:class:`..authentication.scram.ScramAccounts`)."""

    def __init__(self, mechanism: ScramMechanism, image: Callable[[], MetadataImage]) -> None:
        """``image`` returns the present metadata."""
        self._mechanism = mechanism
        self._image = image
        self._decoys_at = -2
        """The offset of the metadata of which the next two are made."""
        self._key = b""
        self._iterations = ITERATIONS_MIN

    def user(self, name: str) -> ScramAccount | None:
        """The account of a user, or None."""
        credential = self._image().scram_credentials.get((name, self._mechanism.type))
        return None if credential is None else ScramAccount(credential, f"User:{name}")

    def token(self, token_id: str) -> ScramAccount | None:
        """Delegation tokens are not served yet."""
        return None

    def decoy(self, name: str) -> ScramCredential:
        """The credential that an unknown name seems to have: a salt of its own, and the usual iterations."""
        image = self._image()
        if image.last_offset != self._decoys_at:
            self._decoys_at = image.last_offset
            mine = [one for (_, kind), one in sorted(image.scram_credentials.items()) if kind == self._mechanism.type]
            self._key = hashlib.sha256(b"".join(one.server_key for one in mine)).digest()
            counts = Counter(one.iterations for one in mine)
            self._iterations = max(counts, key=lambda each: (counts[each], each), default=ITERATIONS_MIN)
        digest = hmac.digest(self._key, f"{self._mechanism.name}:{name}".encode(), "sha512")
        salt = base_36(int.from_bytes(digest, "big") >> (8 * len(digest) - RANDOM_BITS)).encode()
        size = hashlib.new(self._mechanism.hash).digest_size
        return ScramCredential(salt, digest[:size], digest[:size], self._iterations)
