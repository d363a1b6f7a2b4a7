"""Looks up SCRAM credentials in the metadata image for authentications.

Owns: a cache of the credentials of delegation tokens. Never does: making up credentials for unknown users
(:mod:`.scram_decoys`). Source: ``ScramServerCallbackHandler``, ``ScramCredentialCache``.
"""

import base64
from collections import OrderedDict
from collections.abc import Callable
from random import SystemRandom
from typing import TYPE_CHECKING

from odradek.protocol.security.scram import ITERATIONS_MIN, ScramMechanism, credential_of, salted_password
from odradek.protocol.security.scram_credential import ScramCredential

from ...metadata.image.image import MetadataImage
from .scram import ScramAccount
from .scram_decoys import RANDOM_BITS, ScramDecoys, base_36

if TYPE_CHECKING:
    from ...metadata.image.token_hmacs import TokenHmacs

TOKENS_KEPT = 1_000


def random_text() -> str:
    """A nonce: 130 random bits in base 36, as in Kafka."""
    return base_36(SystemRandom().getrandbits(RANDOM_BITS))


class ImageAccounts:
    """The accounts of one mechanism (:class:`.scram.ScramAccounts`)."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        image: Callable[[], MetadataImage],
        token_hmacs: Callable[[], "TokenHmacs | None"],
        decoys: ScramDecoys,
    ) -> None:
        """``image`` returns the current metadata image, ``token_hmacs`` its tokens' HMACs (None: no tokens)."""
        self._mechanism = mechanism
        self._image = image
        self._token_hmacs = token_hmacs
        self._decoys = decoys
        self._of_tokens: OrderedDict[str, ScramCredential] = OrderedDict()
        """A cache of the credentials of recently used tokens. Computing one takes 3 ms."""

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
            password = base64.b64encode(hmacs.hmac_of(token_id)).decode()
            salt = self._decoys.token_salt(self._mechanism, token_id)
            salted = salted_password(self._mechanism, password, salt, ITERATIONS_MIN)
            credential = credential_of(self._mechanism, salted, salt, ITERATIONS_MIN)
        self._of_tokens[token_id] = credential
        if len(self._of_tokens) > TOKENS_KEPT:
            self._of_tokens.popitem(last=False)
        return ScramAccount(credential, f"User:{token.owner.partition(':')[2]}", token.expiry_ms)

    def decoy(self, name: str, is_by_token: bool) -> ScramCredential:
        """The made-up credential for an unknown user or delegation token."""
        make = self._decoys.of_token if is_by_token else self._decoys.of_user
        return make(self._mechanism, name)
