"""The security settings of a client: Kafka's properties, checked once when the client is created.

Owns: ``security.protocol`` and the list of accepted keys. Never does: connecting. ``repr`` omits the properties.
Source: ``CommonClientConfigs``, ``SslConfigs``, ``SaslConfigs``.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from ..errors import ConfigurationError

PROTOCOL_KEY = "security.protocol"
PROTOCOLS = {
    "PLAINTEXT": (False, False),
    "SSL": (True, False),
    "SASL_PLAINTEXT": (False, True),
    "SASL_SSL": (True, True),
}
"""``security.protocol`` -> whether it has TLS, whether it has SASL."""

KEYS = frozenset(
    (
        f"{PROTOCOL_KEY} sasl.jaas.config sasl.login.callback.handler.class sasl.login.connect.timeout.ms "
        "sasl.login.read.timeout.ms sasl.mechanism "
        "sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret "
        "sasl.oauthbearer.header.urlencode sasl.oauthbearer.scope sasl.oauthbearer.token.endpoint.url "
        "ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class "
        "ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key "
        "ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider "
        "ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password "
        "ssl.truststore.type"
    ).split()
)
"""The keys of Java's clients that have an effect here, or whose error message says that they are not supported."""

TokenProvider = Callable[[], str | Awaitable[str]]
"""Returns the OAUTHBEARER token for a login. A function that is not a coroutine runs on a thread."""


@dataclass(frozen=True, slots=True)
class Security:
    """The security settings of a client. Create it with :func:`security_of`."""

    protocol: str = "PLAINTEXT"
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The properties, by Kafka's names."""
    token_provider: TokenProvider | None = field(default=None, repr=False)

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return PROTOCOLS[self.protocol][0]

    @property
    def has_sasl(self) -> bool:
        """Whether the client authenticates with SASL."""
        return PROTOCOLS[self.protocol][1]


def security_of(security: Mapping[str, str], token_provider: TokenProvider | None = None) -> Security | None:
    """Checks the properties. Returns None for PLAINTEXT. Raises ConfigurationError, which names the key."""
    for key, value in security.items():
        if key not in KEYS:
            raise ConfigurationError(f"security: {key!r} has no effect here; the keys are {', '.join(sorted(KEYS))}")
        if not isinstance(value, str):
            raise ConfigurationError(f"security: the value of {key!r} must be text")
    protocol = security.get(PROTOCOL_KEY, "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise ConfigurationError(f"{PROTOCOL_KEY} is {protocol!r}; it can be {', '.join(PROTOCOLS)}")
    if protocol == "PLAINTEXT":
        return None
    return Security(protocol, dict(security), token_provider)
