"""What variables of Kafka's images mean that name no key: files of TLS with their passwords, and Bitnami's users.

    KAFKA_SSL_KEYSTORE_FILENAME=kafka.jks       /etc/kafka/secrets/kafka.jks is the key store (Apache, Confluent)
    KAFKA_SSL_KEYSTORE_CREDENTIALS=creds        /etc/kafka/secrets/creds has its password
    KAFKA_CLIENT_USERS=alice,bob                who may log in with SASL (Bitnami), with KAFKA_CLIENT_PASSWORDS
    KAFKA_CERTIFICATE_PASSWORD=secret           the password of /opt/bitnami/kafka/config/certs/kafka.keystore.jks

Pure but for the given reading of files. It imports nothing of ours, since the image's entry point reads it. Owns: the
variables. Never does: deciding what a key means. Source: ``configure`` of the images of Apache and Confluent; the
scripts ``libkafka.sh`` and ``kafka-env.sh`` of Bitnami's image for Kafka 4.0.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

Read = Callable[[str], bytes | None]
"""Returns the content of a file, None if there is none of that name. Raises OSError if it can't be read."""
Given = dict[str, tuple[str, str]]
"""Key -> its value, and the variable that sets it."""

SECRETS = "/etc/kafka/secrets/"
CERTIFICATES = ("/opt/bitnami/kafka/config/certs/", "/bitnami/kafka/config/certs/")
"""Where Bitnami's image looks for key stores: its own directory, then the one that users mount."""
ASKS_FOR_CERTIFICATES = ("required", "requested")
LOCATIONS = {
    "KAFKA_SSL_KEYSTORE_FILENAME": "ssl.keystore.location",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "ssl.truststore.location",
}
PASSWORDS = {
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "ssl.keystore.password",
    "KAFKA_SSL_KEY_CREDENTIALS": "ssl.key.password",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "ssl.truststore.password",
}
ALIASES = {
    "KAFKA_LOGS_DIRS": "log.dirs",
    "KAFKA_SEGMENT_BYTES": "log.segment.bytes",
    "KAFKA_MAX_MESSAGE_BYTES": "message.max.bytes",
}
"""Earlier names of variables of Bitnami's image."""
USERS = {
    "KAFKA_CLIENT_USERS": "user",
    "KAFKA_CLIENT_PASSWORDS": "bitnami",
    "KAFKA_INTER_BROKER_USER": "user",
    "KAFKA_INTER_BROKER_PASSWORD": "bitnami",
    "KAFKA_CONTROLLER_USER": "controller_user",
    "KAFKA_CONTROLLER_PASSWORD": "bitnami",
}
"""Variable -> its default in Bitnami's image."""
OLD_USERS = {"KAFKA_CLIENT_USERS": "KAFKA_BROKER_USER", "KAFKA_CLIENT_PASSWORDS": "KAFKA_BROKER_PASSWORD"}
TLS = ("KAFKA_CERTIFICATE_PASSWORD", "KAFKA_TLS_CLIENT_AUTH", "KAFKA_TLS_TRUSTSTORE_FILE", "KAFKA_TLS_TYPE")
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OF_BITNAMI = frozenset(
    {*USERS, *OLD_USERS.values(), *TLS, *(f"{name}_FILE" for name in (*USERS, "KAFKA_CERTIFICATE_PASSWORD"))}
)
"""Variables that :func:`of_bitnami` reads."""
WITH_AN_EFFECT = frozenset({*LOCATIONS, *PASSWORDS, *ALIASES, *OF_BITNAMI})
"""All variables that this module reads."""


class MissingFileError(Exception):
    """A variable names a file that is not there, or can't be read. The text says which."""


def of_secrets(environ: Mapping[str, str], read: Read) -> Given:
    """The keys that files below SECRETS set, with the earlier names of Bitnami's variables. Raises MissingFileError."""
    given: Given = {}
    for name, key in LOCATIONS.items():
        if environ.get(name):
            _content(read, SECRETS + environ[name], name)  # it is there
            given[key] = SECRETS + environ[name], name
    for name, key in PASSWORDS.items():
        if environ.get(name):
            given[key] = _text(_content(read, SECRETS + environ[name], name)), name
    return given | {key: (environ[name], name) for name, key in ALIASES.items() if name in environ}


def _text(content: bytes) -> str:
    """The text of a file without its last line end. Bytes that are not UTF-8 stay what they are."""
    return content.decode(errors="surrogateescape").rstrip("\r\n")


def _content(read: Read, path: str, name: str) -> bytes:
    try:
        content = read(path)
    except OSError as error:
        raise MissingFileError(f"{name}: cannot read {path}: {error.strerror}") from error
    if content is None:
        raise MissingFileError(f"{name} names {path}, which does not exist: mount a directory with it at {SECRETS}")
    return content


class _MappedProtocol(NamedTuple):
    """A listener of ``listener.security.protocol.map``, and its protocol."""

    name: str
    protocol: str

    @property
    def prefix(self) -> str:
        """The beginning of its keys."""
        return f"listener.name.{self.name.lower()}."


def is_bitnami(environ: Mapping[str, str]) -> bool:
    """Whether the variables are those of Bitnami's image."""
    return any(name.startswith("KAFKA_CFG_") or name in OF_BITNAMI for name in environ)


def of_bitnami(environ: Mapping[str, str], given: Given, read: Read) -> Given:
    """The keys that Bitnami's image sets beside those that variables name: users, logins and key stores.

    ``given``: the keys that variables set; each of them counts more than these. Raises MissingFileError.
    """
    if not is_bitnami(environ):
        return {}
    text = given.get("listener.security.protocol.map", ("", ""))[0]
    pairs = (part.strip().partition(":") for part in text.split(",") if part.strip())
    listeners = [_MappedProtocol(name, protocol) for name, _, protocol in pairs]
    found: Given = {}
    if any(listener.protocol.endswith("SSL") for listener in listeners):
        found |= _key_stores(environ, read)
    with_logins = [listener for listener in listeners if listener.protocol.startswith("SASL_")]
    if with_logins:
        found |= _logins(environ, given, with_logins, read)
    return {key: value for key, value in found.items() if key not in given}


def _key_stores(environ: Mapping[str, str], read: Read) -> Given:
    kind = environ.get("KAFKA_TLS_TYPE") or "JKS"
    found: Given = {
        "ssl.client.auth": (environ.get("KAFKA_TLS_CLIENT_AUTH") or "required", "KAFKA_TLS_CLIENT_AUTH"),
        "ssl.keystore.type": (kind, "KAFKA_TLS_TYPE"),
        "ssl.truststore.type": (kind, "KAFKA_TLS_TYPE"),
    }
    password = _said(environ, "KAFKA_CERTIFICATE_PASSWORD", read)
    if password:
        found["ssl.key.password"] = password, "KAFKA_CERTIFICATE_PASSWORD"
    trusted = environ.get("KAFKA_TLS_TRUSTSTORE_FILE") or f"kafka.truststore.{'pem' if kind == 'PEM' else 'jks'}"
    if kind == "PEM":
        files = {
            "ssl.keystore.key": "kafka.keystore.key",
            "ssl.keystore.certificate.chain": "kafka.keystore.pem",
            "ssl.truststore.certificates": trusted,
        }
        for key, name in files.items():
            found[key] = _certificate(name, read)[1], "KAFKA_TLS_TYPE"
        return found
    for key, name in (("ssl.keystore.location", "kafka.keystore.jks"), ("ssl.truststore.location", trusted)):
        found[key] = _certificate(name, read)[0], "KAFKA_TLS_TYPE"
    if password:
        for key in ("ssl.keystore.password", "ssl.truststore.password"):
            found[key] = password, "KAFKA_CERTIFICATE_PASSWORD"
    return found


def _certificate(name: str, read: Read) -> tuple[str, str]:
    """The path and the text of a file of certificates. ``name``: below CERTIFICATES, or a path."""
    paths = [name] if name.startswith("/") else [directory + name for directory in CERTIFICATES]
    for path in paths:
        try:
            content = read(path)
        except OSError as error:
            raise MissingFileError(f"a listener has TLS: cannot read {path}: {error.strerror}") from error
        if content is not None:
            return path, _text(content)
    raise MissingFileError(f"a listener has TLS, and {paths[0]} does not exist: mount the directory with it")


def _logins(environ: Mapping[str, str], given: Given, listeners: list[_MappedProtocol], read: Read) -> Given:
    mechanisms = given.get("sasl.enabled.mechanisms", (MECHANISMS, ""))[0]
    found: Given = {"sasl.enabled.mechanisms": (mechanisms, "KAFKA_CFG_SASL_ENABLED_MECHANISMS")}
    of_brokers = given.get("inter.broker.listener.name", ("INTERNAL", ""))[0]
    of_controllers = given.get("controller.listener.names", ("CONTROLLER", ""))[0].split(",")
    for listener in listeners:
        if listener.name in of_controllers:
            continue  # this broker is its own controller, or a client of others
        for mechanism in (part.strip() for part in mechanisms.split(",")):
            login = _login(environ, mechanism, listener.name == of_brokers, read)
            found[f"{listener.prefix}{mechanism.lower()}.sasl.jaas.config"] = login, "KAFKA_CLIENT_USERS"
    return found


def _login(environ: Mapping[str, str], mechanism: str, is_of_brokers: bool, read: Read) -> str:
    """The text of a login (JAAS). ``is_of_brokers``: brokers log in with it, too."""
    own = ""
    if is_of_brokers:
        user, password = (_said(environ, f"KAFKA_INTER_BROKER_{what}", read) for what in ("USER", "PASSWORD"))
        own = f' username="{user}" password="{password}"'
    if mechanism != "PLAIN":
        return f"{SCRAM_LOGIN}{own};"
    known = dict(users(environ, read))
    if is_of_brokers:
        known.setdefault(user, password)
    return f"{PLAIN_LOGIN}{own}" + "".join(f' user_{name}="{secret}"' for name, secret in known.items()) + ";"


def users(environ: Mapping[str, str], read: Read) -> Iterator[tuple[str, str]]:
    """The users of Bitnami's image with their passwords, in their order."""
    names, secrets = (
        _said(environ, name, read).replace(";", ",") for name in ("KAFKA_CLIENT_USERS", "KAFKA_CLIENT_PASSWORDS")
    )
    return zip(names.split(","), secrets.split(","), strict=False)


def _said(environ: Mapping[str, str], name: str, read: Read) -> str:
    """The value of a variable, of the file that ``<name>_FILE`` names, of its earlier name, or its default."""
    file_name = environ.get(f"{name}_FILE")
    if file_name:
        try:
            content = read(file_name)
        except OSError as error:
            raise MissingFileError(f"{name}_FILE: cannot read {file_name}: {error.strerror}") from error
        if content is None:
            raise MissingFileError(f"{name}_FILE names {file_name}, which does not exist")
        return _text(content)
    return environ.get(name) or environ.get(OLD_USERS.get(name, ""), "") or USERS.get(name, "")
