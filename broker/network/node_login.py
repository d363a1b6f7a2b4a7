"""The login of this broker at another node: handshake, messages of a mechanism, the life of the session.

Pure. Owns: the order of the requests. Never does: sockets, clocks. The same steps renew a session on an open connection
(KIP-368). Source: ``SaslClientAuthenticator``.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, NamedTuple

from ...protocol.errors import ErrorCode, error_name
from ...protocol.messages.security import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from ...protocol.messages.structure import Message

if TYPE_CHECKING:
    import ssl

    from ...protocol.security.login_mechanisms import ClientLogin

LoginSteps = Generator[Message, Message, int]
"""Requests to send, their answers; at the end how long the session lives, in ms (0: it does not end)."""
MESSAGES_MAX = 10
"""No mechanism has more messages."""
RESPONSES: dict[type[Message], type[Message]] = {
    SaslHandshakeRequest: SaslHandshakeResponse,
    SaslAuthenticateRequest: SaslAuthenticateResponse,
}
"""Each request of a login -> its response."""


class NodeSecurity(NamedTuple):
    """How this broker connects to the nodes of one listener. Each connection asks for both anew.

    ``tls`` returns the context of a connection, None without TLS. ``login`` begins a login, None without SASL.
    """

    tls: "Callable[[], ssl.SSLContext] | None" = None
    login: "Callable[[], ClientLogin] | None" = None


PLAINTEXT = NodeSecurity()


class LoginRefusedError(Exception):
    """The other node refuses the login, or could not prove that it knows the password. The text has no secret."""


def login_steps(mechanism: "ClientLogin", address: str) -> LoginSteps:
    """The requests of one login. Raises LoginRefusedError, which names the node, the mechanism and the user."""
    who = mechanism.name if mechanism.user is None else f"{mechanism.name}, user {mechanism.user!r}"
    handshake = yield SaslHandshakeRequest(mechanism.name)
    assert isinstance(handshake, SaslHandshakeResponse)
    if handshake.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(handshake.mechanisms) or "none"
        raise LoginRefusedError(f"{address} does not enable the mechanism {mechanism.name}; it has {enabled}")
    if handshake.error_code:
        raise LoginRefusedError(f"{address} refuses the handshake ({who}): {error_name(handshake.error_code)}")
    message = mechanism.first()
    for _ in range(MESSAGES_MAX):
        answer = yield SaslAuthenticateRequest(message)
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            reason = answer.error_message or error_name(answer.error_code)
            raise LoginRefusedError(f"{address} refuses the login ({who}): {reason}")
        try:
            next_message = mechanism.answer(bytes(answer.auth_bytes))
        except ValueError as error:
            raise LoginRefusedError(f"the login at {address} failed ({who}): {error}") from None
        if next_message is None:
            return answer.session_lifetime_ms
        message = next_message
    raise LoginRefusedError(f"{address} goes on asking after {MESSAGES_MAX} messages ({who})")
