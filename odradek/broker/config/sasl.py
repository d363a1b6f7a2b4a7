"""The configuration of SASL: mechanisms, users of PLAIN, sessions of each listener.

Owns: these settings and their checks. Never does: authenticating. Invariants: a listener that asks for SASL starts only
if everything that it needs is there; errors name the key and the position, never a password. Source:
``SaslChannelBuilder``, ``JaasContext.loadServerContext``, ``KafkaConfig.validateValues``.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.security.jaas import (
    KERBEROS_MODULE,
    OAUTHBEARER_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    JaasError,
    JaasModule,
    parse_file,
    parse_module,
)
from odradek.protocol.security.token_settings import RetrieverSettings

from .errors import ConfigError
from .listeners import Listener, uses_sasl
from .oauthbearer import MECHANISM as OAUTHBEARER
from .oauthbearer import OAuthBearerSettings, oauthbearer_settings, token_settings
from .typed_values import TypedValues, listener_value, prefix_of

MECHANISMS_KEY = "sasl.enabled.mechanisms"
JAAS_KEY = "sasl.jaas.config"
JAAS_FILE_KEY = "java.security.auth.login.config"
"""The key for the path of a JAAS file. In Kafka it is a system property of Java."""
REAUTH_KEY = "connections.max.reauth.ms"
RECEIVE_KEY = "sasl.server.max.receive.size"
DELAY_KEY = "connection.failed.authentication.delay.ms"
INTER_BROKER_KEY = "sasl.mechanism.inter.broker.protocol"
MODULES: Mapping[str, str] = {
    "PLAIN": PLAIN_MODULE,
    "SCRAM-SHA-256": SCRAM_MODULE,
    "SCRAM-SHA-512": SCRAM_MODULE,
    OAUTHBEARER: OAUTHBEARER_MODULE,
}
"""The mechanisms that are served, each with its login module."""
KNOWN_MODULES = frozenset({PLAIN_MODULE, SCRAM_MODULE, OAUTHBEARER_MODULE, KERBEROS_MODULE})
USER_PREFIX = "user_"


class MechanismSettings(NamedTuple):
    """One mechanism of a listener. ``modules``: its JAAS configuration. ``max_reauth_ms``: 0 if sessions never end."""

    name: str
    modules: Sequence[JaasModule]
    max_reauth_ms: int
    oauthbearer: OAuthBearerSettings | None = None

    def passwords(self) -> Mapping[str, str]:
        """The users of PLAIN with their passwords (``user_<name>``)."""
        users: dict[str, str] = {}
        for module in self.modules:
            if module.name == PLAIN_MODULE:
                for key, value in module.options.items():
                    if key.startswith(USER_PREFIX):
                        users.setdefault(key.removeprefix(USER_PREFIX), value)
        return users


class ListenerSasl(NamedTuple):
    """The SASL settings of one listener."""

    mechanisms: Sequence[MechanismSettings]
    max_receive_bytes: int


def sasl_settings(
    config: TypedValues, listeners: Sequence[Listener], inter_broker_listener: str
) -> dict[str, ListenerSasl]:
    """The settings of the listeners that ask for SASL, by listener name. Raises ConfigError with all problems."""
    reader = _SaslReader(config)
    found = {listener.name: reader.listener(listener.name) for listener in listeners if uses_sasl(listener.protocol)}
    inter_broker = found.get(inter_broker_listener)
    if inter_broker is not None and not reader.problems:
        mechanism = config.get_string(INTER_BROKER_KEY)
        if mechanism not in [enabled.name for enabled in inter_broker.mechanisms]:
            reader.problems.append(
                f"{INTER_BROKER_KEY} must be included in {MECHANISMS_KEY} when SASL is used for inter-broker "
                f"communication: the listener {inter_broker_listener} does not enable {mechanism}"
            )
    if reader.problems:
        raise ConfigError(reader.problems)
    return found


def file_of_plain_users(config: TypedValues, listener: str) -> str | None:
    """The JAAS file with the users of PLAIN of a listener; None if a key of the listener has them."""
    path = config.originals.get(JAAS_FILE_KEY, "").strip()
    return path if path and f"{prefix_of(listener)}plain.{JAAS_KEY}" not in config.originals else None


def plain_users(config: TypedValues, listener: str) -> Mapping[str, str]:
    """The users of PLAIN of a listener with their passwords. Reads the JAAS file. Raises ConfigError."""
    reader = _SaslReader(config)
    settings = MechanismSettings("PLAIN", reader.modules(listener, "PLAIN"), 0)
    if reader.problems:
        raise ConfigError(reader.problems)
    return settings.passwords()


class NodeLogin(NamedTuple):
    """The login of this broker at the nodes of a listener. The password does not show in ``repr``."""

    mechanism: str
    user: str
    password: str
    tokens: RetrieverSettings | None = None
    """Where to get tokens, for OAUTHBEARER, which has neither user nor password; else None."""

    def __repr__(self) -> str:
        return f"NodeLogin(mechanism={self.mechanism!r}, user={self.user!r})"


def node_login(config: TypedValues, listener: str, mechanism_key: str) -> NodeLogin:
    """How this broker logs in at other nodes' listener of this name. ``mechanism_key`` is the key that names the
    mechanism. The mechanism's login module has the user and the password, or the place to get tokens from.

    It is the same login module with which this broker serves the mechanism on a listener of this name
    (``JaasContext.loadServerContext``). Raises ConfigError.
    """
    mechanism = config.get_string(mechanism_key)
    if mechanism not in MODULES:
        hint = "is not set, and its default is GSSAPI" if mechanism_key not in config.originals else f"is {mechanism}"
        raise ConfigError(
            [
                f"{mechanism_key} {hint}; this broker logs in at the listener {listener} of other nodes with "
                f"{', '.join(MODULES)}: set it to one of them"
            ]
        )
    reader = _SaslReader(config)
    modules = reader.modules(listener, mechanism)
    if reader.problems:
        raise ConfigError(reader.problems)
    options = next(module.options for module in modules if module.name == MODULES[mechanism])
    if mechanism == OAUTHBEARER:
        return NodeLogin(mechanism, "", "", token_settings(config, listener, options))
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        key = f"{prefix_of(listener)}{mechanism.lower()}.{JAAS_KEY}"
        where = key if key in config.originals else JAAS_FILE_KEY
        raise ConfigError(
            [
                f"{where} ({config.place_of(where)}): the login module of {mechanism} has no {missing[0]}; this"
                f" broker needs it to log in at the listener {listener} of other nodes"
            ]
        )
    return NodeLogin(mechanism, options["username"], options["password"])


class _SaslReader:
    """Reads the settings, and collects the problems."""

    def __init__(self, config: TypedValues) -> None:
        self._config = config
        self._contexts: dict[str, list[JaasModule]] | None = None
        self.problems: list[str] = []

    def listener(self, name: str) -> ListenerSasl:
        size = self._whole(name, RECEIVE_KEY, None)
        return ListenerSasl(list(self._mechanisms(name)), size)

    def _mechanisms(self, listener: str) -> Iterator[MechanismSettings]:
        given = listener_value(self._config, listener, MECHANISMS_KEY)
        default = ",".join(self._config.get_list(MECHANISMS_KEY))
        names = [name.strip() for name in (default if given is None else given.text).split(",") if name.strip()]
        if not names:
            self.problems.append(f"{MECHANISMS_KEY} is empty, but the listener {listener} uses SASL")
        for name in dict.fromkeys(names):
            if name not in MODULES:
                where = MECHANISMS_KEY if given is None else f"{given.key} ({self._config.place_of(given.key)})"
                hint = "Kerberos is not supported" if name == "GSSAPI" else f"supported are {', '.join(MODULES)}"
                said = "has" if given is not None else "is not set, and its default has"
                self.problems.append(
                    f"{where} {said} {name!r} for the listener {listener}: {hint}. "
                    f"Set {MECHANISMS_KEY} to the mechanisms of your clients, such as SCRAM-SHA-512"
                )
                continue
            modules = self.modules(listener, name)
            if not modules:
                continue
            bearer = self._oauthbearer(listener, modules) if name == OAUTHBEARER else None
            yield MechanismSettings(name, modules, self._whole(listener, REAUTH_KEY, name), bearer)

    def _oauthbearer(self, listener: str, modules: Sequence[JaasModule]) -> OAuthBearerSettings | None:
        options = next(module.options for module in modules if module.name == OAUTHBEARER_MODULE)
        try:
            return oauthbearer_settings(self._config, listener, options)
        except ConfigError as error:
            self.problems += error.problems
            return None

    def _whole(self, listener: str, key: str, mechanism: str | None) -> int:
        given = listener_value(self._config, listener, key, mechanism)
        if given is None:
            return self._config.get_int(key)
        try:
            return int(given.text)
        except ValueError:
            where = self._config.place_of(given.key)
            self.problems.append(f"{given.key} ({where}): {given.text!r} is not a number")
            return 0

    def modules(self, listener: str, mechanism: str) -> Sequence[JaasModule]:
        """The login modules of a mechanism: that of its own ``sasl.jaas.config``, else those of the JAAS file."""
        key = f"{prefix_of(listener)}{mechanism.lower()}.{JAAS_KEY}"
        text = self._config.originals.get(key)
        if text is not None:
            where = f"{key} ({self._config.place_of(key)})"
            try:
                modules = [parse_module(text)]
            except JaasError as error:
                self.problems.append(f"{where}: {error}")
                return ()
        else:
            where, modules = self._from_file(listener, mechanism, key)
        problem = _problem(modules, mechanism)
        if problem is not None:
            self.problems.append(f"{where}: {problem}")
            return ()
        return modules

    def _from_file(self, listener: str, mechanism: str, key: str) -> tuple[str, list[JaasModule]]:
        """The place of the modules for error messages, and the modules."""
        path = self._config.originals.get(JAAS_FILE_KEY, "").strip()
        names = f"{listener.lower()}.KafkaServer", "KafkaServer"
        where = f"{JAAS_FILE_KEY} {path}"
        if self._contexts is None and path:
            self._contexts = self._read(path)
        for name in names:
            if self._contexts and name in self._contexts:
                return f"{where}, {name}", self._contexts[name]
        if not path:
            where = f"neither {key} nor {JAAS_FILE_KEY} is set"
        elif not self._contexts:
            return where, []  # the file could not be read, which is a problem already
        else:
            where = f"{where} has no login context {names[0]} or {names[1]}, and {key} is not set"
        self.problems.append(f"the listener {listener} enables {mechanism}, but {where}")
        return where, []

    def _read(self, path: str) -> dict[str, list[JaasModule]]:
        try:
            contexts = parse_file(Path(path).read_text("utf-8"))
        except JaasError as error:
            self.problems.append(f"{JAAS_FILE_KEY} {path}: {error}")
        except UnicodeDecodeError as error:
            self.problems.append(f"{JAAS_FILE_KEY} {path}: byte {error.start} is not UTF-8")
        except OSError as error:
            self.problems.append(f"{JAAS_FILE_KEY} {path} can't be read: {error.strerror}")
        else:
            if not contexts:
                self.problems.append(f"{JAAS_FILE_KEY} {path} has no login context")
            return contexts
        return {}


def _problem(modules: Sequence[JaasModule], mechanism: str) -> str | None:
    """What is wrong with the modules for a mechanism, or None."""
    if not modules:
        return None  # a problem that is collected already
    unknown = [module.name for module in modules if module.name not in KNOWN_MODULES]
    if unknown:
        known = ", ".join(sorted(KNOWN_MODULES - {KERBEROS_MODULE}))
        return f"the login module {unknown[0]} is not supported (supported are {known})"
    if MODULES[mechanism] not in [module.name for module in modules]:
        return f"{mechanism} needs the login module {MODULES[mechanism]}"
    return None
