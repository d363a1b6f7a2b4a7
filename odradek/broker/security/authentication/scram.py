"""SASL SCRAM: authenticates users, or owners of delegation tokens, by the credentials in the metadata.

Pure: nonces are passed in. Unlike in Kafka, a client that names an unknown user gets a salt too, and fails at its proof
as with a wrong password. So it can't find out which users exist. Source: ``ScramSaslServer``,
``ScramServerCallbackHandler``; RFC 5802.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from odradek.protocol.security.scram import (
    ITERATIONS_MIN,
    ClientFirst,
    ScramError,
    ScramMechanism,
    ServerFinal,
    ServerFirst,
    decode_client_final,
    decode_client_first,
    server_signature,
    signed_text,
    verify_proof,
)
from odradek.protocol.security.scram_credential import ScramCredential

from .mechanism import Authenticated, Refused
from .plain import OTHER_ID


class ScramAccount(NamedTuple):
    """A credential and its principal. ``expires_ms``: of a delegation token, in wall-clock ms since the epoch."""

    credential: ScramCredential
    principal: str
    expires_ms: int | None = None


class ScramAccounts(Protocol):
    """The credentials of one mechanism."""

    def user(self, name: str) -> ScramAccount | None:
        """The account of a user, or None."""

    def token(self, token_id: str) -> ScramAccount | None:
        """The account of a delegation token, or None."""

    def decoy(self, name: str, is_by_token: bool) -> ScramCredential:
        """A made-up credential for an unknown user or delegation token. It is the same each time."""


class ScramExchange:
    """A SCRAM exchange: the client sends two messages."""

    __slots__ = ("_account", "_accounts", "_answer", "_credential", "_first", "_mechanism", "_nonce")

    def __init__(self, mechanism: ScramMechanism, accounts: ScramAccounts, nonce: Callable[[], str]) -> None:
        """``nonce`` returns a new random text, the server's part of the nonce."""
        self._mechanism = mechanism
        self._accounts = accounts
        self._nonce = nonce
        self._first: ClientFirst | None = None

    def respond(self, token: bytes, now_ms: int) -> bytes | Authenticated:
        """Answers the first message with a salt, the second with a signature. Raises Refused."""
        try:
            if self._first is None:
                return self._begin(token, now_ms)
            return self._end(self._first, token)
        except ScramError as malformed:
            raise Refused(str(malformed)) from None

    def _begin(self, token: bytes, now_ms: int) -> bytes:
        first = decode_client_first(token)
        if first.authorization_id and first.authorization_id != first.name:
            raise Refused(OTHER_ID, OTHER_ID)
        accounts = self._accounts
        account = accounts.token(first.name) if first.is_by_token else accounts.user(first.name)
        if account is not None and account.expires_ms is not None and account.expires_ms < now_ms:
            account = None
        credential = accounts.decoy(first.name, first.is_by_token) if account is None else account.credential
        if credential.iterations < ITERATIONS_MIN:
            raise Refused(f"the stored credential has {credential.iterations} iterations, fewer than {ITERATIONS_MIN}")
        self._first, self._account, self._credential = first, account, credential
        self._answer = ServerFirst(first.nonce + self._nonce(), credential.salt, credential.iterations)
        return self._answer.text.encode()

    def _end(self, first: ClientFirst, token: bytes) -> Authenticated:
        final = decode_client_final(token)
        if final.nonce != self._answer.nonce:
            raise Refused("Invalid client nonce in the final client message.")
        signed = signed_text(first, self._answer, final)
        is_right = verify_proof(self._mechanism, self._credential.stored_key, signed, final.proof)
        account = self._account
        if account is None or not is_right:
            raise Refused("wrong password" if account is not None else "unknown user or token")
        signature = server_signature(self._mechanism, self._credential.server_key, signed)
        answer = ServerFinal(signature).encode()
        return Authenticated(account.principal, answer, account.expires_ms, first.is_by_token)
