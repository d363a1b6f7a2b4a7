"""Who may open a session, and with which rights it acts.

    open    anyone who reaches the listener: on loopback, for a broker that has no security itself
    token   who has the token that ``odradek console`` printed; acts with the settings of the command
    password  who has ``odradek.console.credentials``; acts with the settings of the console
    kafka   who has a login at the brokers (SASL); acts with the rights of that user

Owns: checking a login. Never does: keeping sessions. Invariant: no address and no property of a client comes from the
browser, only a user's name, a password, and one of the mechanisms that were configured.
"""

import hmac
from collections.abc import Mapping
from typing import NamedTuple

from odradek.client.errors import ConfigurationError
from odradek.client.security.sasl_settings import JAAS_KEY, MECHANISM_KEY, MODULES
from odradek.client.security.secured import secured_of

from ..arguments import BadArgument, ConsoleError, ViewArguments
from ..context import ClientSettings

OPEN, TOKEN, PASSWORD, KAFKA = "open", "token", "password", "kafka"
MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
"""Those that need a user's name and a password."""
MAX_NAME = 1024


class ConsoleAccess(NamedTuple):
    """How sessions are opened."""

    kind: str
    client: ClientSettings
    """What sessions act with. For a login at Kafka it has no security yet."""
    secret: str = ""
    """The token, or ``user:password``."""
    properties: Mapping[str, str] = {}
    """For a login at Kafka: the client's security properties but its mechanism and password."""
    mechanisms: tuple[str, ...] = ()
    """For a login at Kafka: those that the listener offers."""


class LoggedIn(NamedTuple):
    """A checked login: whose it is, and what its session acts with."""

    user: str
    client: ClientSettings


def check_login(access: ConsoleAccess, given: ViewArguments) -> LoggedIn:
    """Checks a login, except that brokers check one at Kafka. Raises ConsoleError (401), BadArgument."""
    if access.kind == OPEN:
        return LoggedIn("", access.client)
    if access.kind == KAFKA:
        return _kafka_login(access, given)
    if access.kind == TOKEN:
        user, sent = "", given.text("token", most=MAX_NAME)
    else:
        user = given.text("user", most=MAX_NAME)
        sent = f"{user}:{given.text('password', most=MAX_NAME)}"
    if not hmac.compare_digest(sent.encode("utf-8", "replace"), access.secret.encode()):
        raise ConsoleError(401, "the token or the password is wrong", "LOGIN_FAILED")
    return LoggedIn(user, access.client)


def _kafka_login(access: ConsoleAccess, given: ViewArguments) -> LoggedIn:
    mechanism = given.choice("mechanism", access.mechanisms[0], access.mechanisms)
    user = given.text("user", most=MAX_NAME)
    password = given.text("password", most=MAX_NAME)
    credentials = f"username={quoted('user', user)} password={quoted('password', password)}"
    texts = {
        **access.properties,
        MECHANISM_KEY: mechanism,
        JAAS_KEY: f"{MODULES[mechanism]} required {credentials};",
    }
    try:
        security = secured_of(texts)
    except ConfigurationError as error:
        raise ConsoleError(401, str(error), "LOGIN_FAILED") from None
    return LoggedIn(user, access.client._replace(security=security))


def quoted(name: str, text: str) -> str:
    """A text as a quoted word of a JAAS configuration, whatever it has. Raises BadArgument for control characters."""
    if any(character < " " or character == "\x7f" for character in text):
        raise BadArgument(name, "must not have control characters")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
