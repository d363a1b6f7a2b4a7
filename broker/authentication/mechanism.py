"""What a SASL mechanism is to the broker: exchanges, each of one connection.

Pure. A new mechanism is a function that starts a :class:`SaslExchange`, in the table of a listener under its name
(``security/sasl_mechanisms.py``). Source: ``SaslServer``.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol


class Authenticated(NamedTuple):
    """The end of an exchange: who the client is."""

    principal: str
    """``Type:name``."""
    token: bytes = b""
    """The last token for the client."""
    expires_ms: int | None = None
    """When the credential expires, in wall-clock milliseconds since the epoch."""
    by_token: bool = False
    """Whether the client has used a delegation token."""


class Refused(Exception):  # noqa: N818 - an answer to the client, not an error of ours
    """Raised by an exchange to refuse the client.

    The text is for the log, and must show no secret. ``answer`` is the sentence for the client; None: a sentence that
    says no more than that the credentials are wrong, as Kafka answers where its ``SaslServer`` raises a SaslException.
    """

    def __init__(self, reason: str, answer: str | None = None) -> None:
        super().__init__(reason)
        self.answer = answer


class SaslExchange(Protocol):
    """One exchange of tokens. It ends with :class:`Authenticated` or :class:`Refused`."""

    def respond(self, token: bytes, now_ms: int) -> bytes | Authenticated:
        """Returns the next token for the client, or who the client is. ``now_ms``: wall-clock time. Raises Refused."""


Mechanisms = Mapping[str, Callable[[], SaslExchange]]
"""The enabled mechanisms of a listener: name -> starts an exchange."""
