"""The ``sasl.*`` settings of a client: the mechanism and its credentials.

Pure. Owns: parsing ``sasl.mechanism``, ``sasl.jaas.config`` and the options of login modules. Never does: reading
files, asking for tokens. Errors name the key and never a value that may be a password. Source: ``SaslConfigs``,
``PlainLoginModule``, ``ScramLoginModule``, ``OAuthBearerLoginModule``.
"""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.protocol.security import jaas, scram

from ..errors import ConfigurationError

MECHANISM_KEY, JAAS_KEY = "sasl.mechanism", "sasl.jaas.config"
PLAIN, OAUTHBEARER, GSSAPI = "PLAIN", "OAUTHBEARER", "GSSAPI"
MODULES = {
    PLAIN: jaas.PLAIN_MODULE,
    **dict.fromkeys(scram.MECHANISMS, jaas.SCRAM_MODULE),
    OAUTHBEARER: jaas.OAUTHBEARER_MODULE,
}
"""Mechanism -> the Java class name of its login module."""


class ClientSasl(NamedTuple):
    """The mechanism, and the options of its login module."""

    mechanism: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"ClientSasl(mechanism={self.mechanism!r}, options={sorted(self.options)})"

    @property
    def user(self) -> str:
        """The user who logs in."""
        return self.options["username"]

    @property
    def password(self) -> str:
        """The user's password."""
        return self.options["password"]

    @property
    def by_token(self) -> bool:
        """Whether user and password are the id and the HMAC of a delegation token."""
        return self.options.get("tokenauth", "").lower() == "true"


def sasl_settings(texts: Mapping[str, str]) -> ClientSasl:
    """Parses the SASL settings of a client. Raises ConfigurationError."""
    mechanism = texts.get(MECHANISM_KEY, GSSAPI).strip()
    if mechanism not in MODULES:
        hint = " (Java's default)" if MECHANISM_KEY not in texts else ""
        raise ConfigurationError(f"{MECHANISM_KEY} is {mechanism!r}{hint}; it can be {', '.join(MODULES)}")
    text = texts.get(JAAS_KEY)
    if text is None:
        raise ConfigurationError(f"{JAAS_KEY} is not set; {mechanism} needs {MODULES[mechanism]}")
    try:
        module = jaas.parse_module(text)
    except jaas.JaasError as error:
        raise ConfigurationError(f"{JAAS_KEY}: {error}") from None
    module_class = MODULES[mechanism]
    if module.name.removeprefix("org.apache.kafka.shaded.") not in (
        module_class,
        f"org.apache.kafka.shaded.{module_class}",
    ):
        raise ConfigurationError(f"{JAAS_KEY}: {mechanism} needs the login module {module_class}, not {module.name}")
    if mechanism != OAUTHBEARER:
        for option in ("username", "password"):
            if option not in module.options:
                raise ConfigurationError(f"{JAAS_KEY}: the option {option!r} is missing")
    return ClientSasl(mechanism, dict(module.options))
