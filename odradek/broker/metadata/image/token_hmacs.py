"""The HMACs of delegation tokens: what a client logs in with, and what names a token in requests.

Pure. Owns: the secret key, the index of tokens by HMAC. Never does: deciding, reading a clock, showing a key or an
HMAC. Imported only with ``delegation.token.secret.key``. Source: ``DelegationTokenManager``, ``DelegationTokenCache``.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from .delegation_tokens import DelegationToken


class TokenHmacs:
    """The tokens of the metadata with their HMACs (HMAC-SHA-512 of the id). About 70 bytes for each token."""

    __slots__ = ("_by_hmac", "_hmacs", "_secret_key")

    def __init__(self, secret_key: str) -> None:
        """``secret_key``: ``delegation.token.secret.key``, the same at all brokers and controllers."""
        self._secret_key = secret_key.encode()
        self._hmacs: dict[str, bytes] = {}
        self._by_hmac: dict[bytes, str] = {}

    def __repr__(self) -> str:
        return f"TokenHmacs({len(self._hmacs)} tokens)"

    def hmac_of(self, token_id: str) -> bytes:
        """The HMAC of a token's id, whether or not there is such a token. Clients log in with its Base64."""
        known = self._hmacs.get(token_id)
        return hmac.digest(self._secret_key, token_id.encode(), hashlib.sha512) if known is None else known

    def id_of(self, digest: bytes) -> str | None:
        """The id of the token with this HMAC; None if there is none."""
        return self._by_hmac.get(bytes(digest))

    def update(self, tokens: Mapping[str, DelegationToken], changed: Iterable[str]) -> None:
        """Adds the ``changed`` ids that are in ``tokens`` (all current ones), removes the others. 3 us for a new
        one."""
        for token_id in changed:
            if token_id in tokens:
                digest = self._hmacs[token_id] = self.hmac_of(token_id)
                self._by_hmac[digest] = token_id
            elif token_id in self._hmacs:
                del self._by_hmac[self._hmacs.pop(token_id)]
