"""The client's side of a SASL login: SaslHandshake, then SaslAuthenticate requests with the mechanism's messages.

Pure. Owns: the order of the requests, and the error texts. Never does: sockets, clocks. The same steps re-authenticate
an open connection (KIP-368). Source: ``SaslClientAuthenticator``.
"""

from collections.abc import Generator

from ..errors import ErrorCode, LoginRefusedError, error_name
from ..messages.security import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from ..messages.structure import Message
from .login_mechanisms import ClientLogin, MechanismError

LoginSteps = Generator[Message, Message, int]
"""Yields each request to send, and receives its response. Returns the session lifetime in ms (0: no limit)."""
MESSAGES_MAX = 10
"""The highest number of SaslAuthenticate requests in a login; no mechanism needs more."""


def login_steps(mechanism: ClientLogin, address: str) -> LoginSteps:
    """Performs one login at the broker at ``address``, as a generator of requests (:data:`LoginSteps`).

    Raises LoginRefusedError, which names the broker, the mechanism and the user.
    """
    who = mechanism.name if mechanism.user is None else f"{mechanism.name}, user {mechanism.user!r}"
    what = f"{address} ({who})"
    handshake = yield SaslHandshakeRequest(mechanism.name)
    assert isinstance(handshake, SaslHandshakeResponse)
    if handshake.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(handshake.mechanisms) or "none"
        raise LoginRefusedError(f"{address} does not enable the mechanism {mechanism.name}; it enables {enabled}")
    if handshake.error_code:
        raise LoginRefusedError(f"{what} refuses the handshake: {error_name(handshake.error_code)}")
    message = mechanism.first()
    for _ in range(MESSAGES_MAX):
        answer = yield SaslAuthenticateRequest(message)
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            reason = answer.error_message or error_name(answer.error_code)
            raise LoginRefusedError(f"{what} refuses the login: {reason}")
        try:
            next_message = mechanism.answer(bytes(answer.auth_bytes))
        except MechanismError as error:
            raise LoginRefusedError(f"{what}: {error}") from None
        if next_message is None:
            return answer.session_lifetime_ms
        message = next_message
    raise LoginRefusedError(f"{what} did not end the login after {MESSAGES_MAX} messages")
