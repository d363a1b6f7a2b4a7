"""The interface of SASL mechanisms: an exchange of messages with one client, and its result.

Pure. To add a mechanism, enter a function that starts its :class:`SaslExchange` in ``security/sasl_mechanisms.py``,
under the mechanism's name. Source: ``SaslServer``.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol


class Authenticated(NamedTuple):
    """The result of a successful exchange: the client's principal."""

    principal: str
    """``Type:name``."""
    token: bytes = b""
    """The mechanism's last message to the client."""
    expires_ms: int | None = None
    """When the credential expires, in wall-clock milliseconds since the epoch."""
    by_token: bool = False
    """Whether the client has used a delegation token."""


class Refused(Exception):  # noqa: N818 - an answer to the client, not an error of ours
    """Raised by an exchange to refuse the client.

    The text is for the log and must contain no secret. ``answer`` is the error message for the client. If it is None,
    the client gets Kafka's general message about invalid credentials, as after a SaslException of a ``SaslServer``.
    """

    def __init__(self, reason: str, answer: str | None = None) -> None:
        super().__init__(reason)
        self.answer = answer


class SaslExchange(Protocol):
    """One exchange of SASL messages (tokens). It ends with :class:`Authenticated` or :class:`Refused`."""

    def respond(self, token: bytes, now_ms: int) -> bytes | Authenticated:
        """Takes a message of the client. Returns the next message for it, or the result. Raises Refused.

        ``now_ms``: wall-clock time.
        """


Mechanisms = Mapping[str, Callable[[], SaslExchange]]
"""The enabled mechanisms of a listener: name -> function that starts an exchange."""
