"""Looks up SCRAM credentials in the metadata image for authentications, and makes up some for unknown users.

Owns: the made-up credentials (decoys), which hide whether a user exists. Invariant: a decoy is the same on every broker
of a cluster and after a restart, until a credential changes; only a program that has all stored credentials can compute
it. Source: ``ScramServerCallbackHandler``, ``ScramCredentialCache``.
"""

import base64
import hashlib
import hmac
from collections import Counter, OrderedDict
from collections.abc import Callable
from random import SystemRandom
from typing import TYPE_CHECKING

from ...protocol.security.scram import ITERATIONS_MIN, ScramMechanism, credential_of, salted_password
from ...protocol.security.scram_credential import ScramCredential
from ..authentication.scram import ScramAccount
from ..metadata.image import MetadataImage

if TYPE_CHECKING:
    from ..metadata.token_hmacs import TokenHmacs

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
TOKENS_KEPT = 1_000
RANDOM_BITS = 130
"""The size of a nonce or a salt (``ScramFormatter.secureRandomString``)."""


def random_text() -> str:
    """A nonce: 130 random bits in base 36, as in Kafka."""
    return base_36(SystemRandom().getrandbits(RANDOM_BITS))


def base_36(number: int) -> str:
    """A number in base 36, with digits and lower-case letters."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


class ImageAccounts:
    """The accounts of one mechanism (:class:`..authentication.scram.ScramAccounts`)."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        image: Callable[[], MetadataImage],
        token_hmacs: Callable[[], "TokenHmacs | None"],
    ) -> None:
        """``image`` returns the current metadata image, ``token_hmacs`` its tokens' HMACs (None: no tokens)."""
        self._mechanism = mechanism
        self._image = image
        self._token_hmacs = token_hmacs
        self._of_tokens: OrderedDict[str, ScramCredential] = OrderedDict()
        """A cache of the credentials of recently used tokens. Computing one takes 3 ms."""
        self._decoys_at = -2
        """The metadata offset for which ``_key`` and ``_iterations`` were computed."""
        self._key = b""
        self._iterations = ITERATIONS_MIN

    def user(self, name: str) -> ScramAccount | None:
        """The account of a user, or None."""
        credential = self._image().scram_credentials.get((name, self._mechanism.type))
        return None if credential is None else ScramAccount(credential, f"User:{name}")

    def token(self, token_id: str) -> ScramAccount | None:
        """The account of a delegation token, or None. Its password is the HMAC in Base64, its principal the owner."""
        token, hmacs = self._image().delegation_tokens.get(token_id), self._token_hmacs()
        if token is None or hmacs is None:
            return None
        credential = self._of_tokens.pop(token_id, None)
        if credential is None:
            password, salt = base64.b64encode(hmacs.hmac_of(token_id)).decode(), random_text().encode()
            salted = salted_password(self._mechanism, password, salt, ITERATIONS_MIN)
            credential = credential_of(self._mechanism, salted, salt, ITERATIONS_MIN)
        self._of_tokens[token_id] = credential
        if len(self._of_tokens) > TOKENS_KEPT:
            self._of_tokens.popitem(last=False)
        return ScramAccount(credential, f"User:{token.owner.partition(':')[2]}", token.expiry_ms)

    def decoy(self, name: str) -> ScramCredential:
        """The made-up credential for an unknown name: its own salt, and the most common number of iterations."""
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
