"""Finds configured security that this broker does not serve, so that it never fails open.

Owns: the keys that require security, and the advice for each. Never does: reading a file. Invariant: a key with its
default value requires nothing, so a broker starts with a file that spells out Kafka's defaults. Source: KafkaConfig,
SslConfigs, SaslConfigs, BrokerSecurityConfigs, StandardAuthorizer, ServerConfigs (the policies).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from .authorizer import ALLOW_KEY, CLASS_KEY, STANDARD_AUTHORIZER, SUPER_USERS_KEY
from .connection_limits import is_of_listener
from .definition import server_keys
from .errors import ConfigError
from .listeners import uses_sasl
from .typed_values import TypedValues

AUTHORIZER_KEYS = frozenset({SUPER_USERS_KEY, ALLOW_KEY})
"""Kafka's StandardAuthorizer reads these from the broker's file. The tables of keys do not have them."""

KEYS_OF_NO_TABLE = AUTHORIZER_KEYS | {"java.security.auth.login.config"}
"""Keys that are known, although the tables of keys do not have them: AUTHORIZER_KEYS, and the path of a JAAS file."""

AUTHORIZATION = f"{STANDARD_AUTHORIZER} is the only authorizer that is supported"
AUTHENTICATION = "this part of SASL is not supported, so clients would be authenticated in another way than you expect"
NO_SASL_LISTENER = "no listener uses SASL (SASL_SSL or SASL_PLAINTEXT in listener.security.protocol.map)"
JVM_TLS = "it names a class for the JVM, which can't be run here"
QUOTAS = "a quota callback is a class for the JVM and can't be run here, so its quotas would not be enforced"
POLICIES = "policies are classes for the JVM and can't be run here, so every request would pass"

_KEYS: Mapping[str, str] = MappingProxyType(
    {
        CLASS_KEY: AUTHORIZATION,
        "java.security.auth.login.config": AUTHENTICATION,
        "principal.builder.class": "it is a class for the JVM and can't be run here",
        "connections.max.reauth.ms": AUTHENTICATION,
        "security.providers": JVM_TLS,
        "ssl.engine.factory.class": JVM_TLS,
        "ssl.provider": JVM_TLS,
        "client.quota.callback.class": QUOTAS,
        "create.topic.policy.class.name": POLICIES,
        "alter.config.policy.class.name": POLICIES,
    }
)
_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "sasl.": AUTHENTICATION,
        "authorizer.": AUTHORIZATION,
        "client.quota.callback.": QUOTAS,
    }
)
KERBEROS_PREFIX = "sasl.kerberos."
"""Keys of GSSAPI, a mechanism that is not served. They require nothing by themselves: ``sasl.enabled.mechanisms`` and
``sasl.mechanism.inter.broker.protocol`` do, which refuse GSSAPI."""
TLS_PREFIX = "ssl."
RELOADABLE = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""The keys of a listener that may change while the broker runs (``SslConfigs.RECONFIGURABLE_CONFIGS``)."""
_ADVICE = 'remove it and let only trusted clients reach the listeners (docs/configuration.md, "Security")'
_OF_A_LISTENER = re.compile(r"listener\.name\.[^.]*\.(?:[^.]*\.(?=(?:sasl|connections\.max\.reauth)\.))?(.*)")
"""``listener.name.<listener>.[<mechanism>.]<key>``."""


def base_key(key: str) -> str:
    """The key that a listener's key overrides; other keys as they are."""
    listener = _OF_A_LISTENER.fullmatch(key)
    return listener[1] if listener else key


def key_of_listener(key: str) -> str:
    """The key that a listener's key overrides, if it is one of TLS or a connection limit
    (``listener.name.<listener>.ssl.…``). Other keys as they are."""
    base = base_key(key)
    return base if base.startswith(TLS_PREFIX) or is_of_listener(key) else key


SERVED_AT_START = frozenset(
    {
        "connections.max.reauth.ms",
        "java.security.auth.login.config",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.mechanism.controller.protocol",
        "sasl.mechanism.inter.broker.protocol",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.server.callback.handler.class",
        "sasl.server.max.receive.size",
    }
)
"""Keys of SASL that are read only from the broker's own configuration, at its start. They can't change at run time, and
values in the metadata are not used."""


def asks_for(key: str, text: str) -> str | None:
    """Why the security that a setting requires is not served; None for a setting that requires none."""
    base = base_key(key)
    if base.startswith(KERBEROS_PREFIX):
        return None
    reason = _KEYS.get(base) or next((why for prefix, why in _PREFIXES.items() if base.startswith(prefix)), None)
    if reason is None or text.strip() in ("", _default(base)):
        return None
    return reason


def _default(key: str) -> str | None:
    if key == CLASS_KEY:
        return STANDARD_AUTHORIZER  # this class is served, so it requires nothing that is missing
    definition = server_keys().get(key)
    return None if definition is None else definition.default


def unserved_security(config: TypedValues, protocols: Collection[str]) -> Iterator[str]:
    """A sentence for each setting that requires unserved security: where it was set, and what to do.

    ``protocols``: the security protocols of the listeners.
    """
    has_sasl = any(map(uses_sasl, protocols))
    for key, text in sorted(config.originals.items()):
        reason = asks_for(key, text)
        if reason is not None and base_key(key) in SERVED_AT_START:
            reason = None if has_sasl else NO_SASL_LISTENER
        if reason is not None:
            yield f"{key} is set ({config.place_of(key)}), but {reason}: {_ADVICE}"


def refuse_unserved_security(config: TypedValues, protocols: Collection[str]) -> None:
    """Raises ConfigError with a sentence for each setting that requires unserved security."""
    problems = list(unserved_security(config, protocols))
    if problems:
        raise ConfigError(problems)


def unserved_changes(changes: Mapping[str, str]) -> Iterator[str]:
    """The keys among dynamic changes that require unserved security."""
    return (key for key, text in sorted(changes.items()) if asks_for(key, text) is not None or _is_tls(key, text))


def _is_tls(key: str, text: str) -> bool:
    """Whether a setting changes a TLS key that is read only at the start."""
    base = base_key(key)
    return base.startswith(TLS_PREFIX) and not is_reloadable(key) and text.strip() not in ("", _default(base))


def is_reloadable(key: str) -> bool:
    """Whether a key belongs to a listener and may change while the broker runs."""
    base = base_key(key)
    return base != key and base in RELOADABLE


def is_security(key: str) -> bool:
    """Whether a key configures security and can't change while the broker runs, whatever its value."""
    base = base_key(key)
    if is_reloadable(key) or base.startswith(KERBEROS_PREFIX):
        return False
    return base in _KEYS or base in KEYS_OF_NO_TABLE or base.startswith((TLS_PREFIX, *_PREFIXES))


def is_served_at_start(key: str) -> bool:
    """Whether a security key that the tables lack has an effect at the start; of those in the tables, only CLASS_KEY.

    Such keys are those of one listener (``listener.name.<name>.…``) and KEYS_OF_NO_TABLE.
    """
    if key in server_keys():
        return key == CLASS_KEY
    return key in KEYS_OF_NO_TABLE or base_key(key) in SERVED_AT_START


def carried_configs(layers: Iterable[Mapping[str, str]]) -> list[str]:
    """The keys of stored dynamic configs that require security which is not served. ``layers``: the configs of each
    resource."""
    return sorted({key for layer in layers for key in unserved_changes(layer)})
