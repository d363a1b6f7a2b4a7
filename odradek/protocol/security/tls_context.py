"""TLS contexts from Kafka's ``ssl.*`` keys, for the broker's listeners and for our clients.

Owns: the translation of the configs for OpenSSL. Never does: connecting, logging. Invariants: a context is complete
when it is returned, and is never changed afterwards (``load_cert_chain`` on a context in use is not atomic): to renew a
certificate, the caller replaces the context; an error names the config, the file and the position, never a secret.
Source: ``DefaultSslEngineFactory``.

Differences from Java: store formats are recognized by their bytes; the cipher suites of TLS 1.3 can't be chosen one by
one before Python 3.15 (:func:`_set_suites`).
"""

import contextlib
import os
import re
import shutil
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from . import key_stores, pem
from .der import StoreError
from .key_stores import KeyEntry

TLS_1_3_SUITES = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
"""The suites of TLS 1.3 that OpenSSL enables, in its order of preference. Both libraries name them alike."""

_NAME = re.compile(
    r"TLS_((?:EC)?DHE_(?:ECDSA|RSA)|RSA)_WITH_"
    r"(?:AES_(128|256)_(GCM|CBC|CCM|CCM_8)(?:_SHA(256|384)?)?|(CHACHA20_POLY1305)_SHA256)"
)

KEYSTORE_LOCATION, TRUSTSTORE_LOCATION = "ssl.keystore.location", "ssl.truststore.location"
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OLD_VERSIONS = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})
"""Java 17 knows these names, and disables the protocols (``jdk.tls.disabledAlgorithms``)."""
_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_ALGORITHMS = {
    "ssl.keymanager.algorithm": ("SunX509", "NewSunX509", "PKIX"),
    "ssl.trustmanager.algorithm": ("PKIX", "SunPKIX", "SunX509", "X509", "X.509"),
    "ssl.protocol": ("TLSv1.3", "TLSv1.2", "TLS"),
}
_UNSERVED = ("ssl.engine.factory.class", "ssl.provider")

T = TypeVar("T")


class TlsSettingsError(ValueError):
    """TLS can't be set up. The text names the key, the file and the position."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The settings of one listener or client, by Kafka's ``ssl.*`` keys; those that are not set are absent."""

    texts: Mapping[str, str] = field(repr=False)
    prefix: str = ""
    """Such as ``listener.name.external.``: a key with it takes precedence over the key without."""

    def get(self, key: str) -> str | None:
        """The text of a key; None if it is not set, or empty."""
        text = self.texts.get(self.name(key))
        return text if text is not None and text.strip() else None

    def name(self, key: str) -> str:
        """The key under which a setting was made, for messages."""
        return self.prefix + key if self.prefix + key in self.texts else key

    def entries(self, key: str) -> list[str]:
        """The entries of a key that is a list."""
        return [entry for entry in (part.strip() for part in (self.get(key) or "").split(",")) if entry]


def listener_settings(texts: Mapping[str, str], listener: str) -> TlsSettings:
    """The settings of a listener of the broker, from all settings as text."""
    return TlsSettings(texts, f"listener.name.{listener.lower()}.")


@dataclass(frozen=True, slots=True)
class ServerTls:
    """A listener's TLS."""

    context: ssl.SSLContext
    refused_suites: frozenset[str]
    """The TLS 1.3 suites that OpenSSL may negotiate although ``ssl.cipher.suites`` does not list them. The caller must
    close a connection whose handshake has negotiated one of them.
    """
    chain: tuple[bytes, ...] = field(repr=False)
    """The listener's certificates as DER, its own one first."""

    @property
    def certificate(self) -> bytes:
        """The listener's own certificate, as DER."""
        return self.chain[0]


def server_tls(settings: TlsSettings) -> ServerTls:
    """The TLS of a listener. Reads the files of the stores. Raises TlsSettingsError."""
    entry = _key_entry(settings)
    if entry is None:
        name = settings.prefix + KEYSTORE_LOCATION
        raise TlsSettingsError(f"{name} is not set: the listener needs a certificate; set it or ssl.keystore.key")
    context = _context(ssl.PROTOCOL_TLS_SERVER, settings)
    refused = _set_suites(context, settings, may_refuse=True)
    _load(context, entry, settings)
    auth = (settings.get("ssl.client.auth") or "none").strip().lower()
    if auth not in _CLIENT_AUTH:
        name = settings.name("ssl.client.auth")
        raise TlsSettingsError(f"{name}: {auth!r} is not one of {', '.join(_CLIENT_AUTH)}")
    context.verify_mode = _CLIENT_AUTH[auth]
    if context.verify_mode == ssl.CERT_NONE:
        _trusted(settings)  # a bad trust store stops the start, as in Kafka, although nothing uses it
    else:
        _trust(context, settings, ssl.Purpose.CLIENT_AUTH)
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    return ServerTls(context, refused, entry.chain)


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """The TLS of a client. Pass the server's name when connecting: it is checked unless
    ``ssl.endpoint.identification.algorithm`` is set and empty.

    Reads the files of the stores. Raises TlsSettingsError.
    """
    context = _context(ssl.PROTOCOL_TLS_CLIENT, settings)
    _set_suites(context, settings, may_refuse=False)
    context.check_hostname = _checks_names(settings)
    entry = _key_entry(settings)
    if entry is not None:
        _load(context, entry, settings)
    _trust(context, settings, ssl.Purpose.SERVER_AUTH)
    return context


def _checks_names(settings: TlsSettings) -> bool:
    key = "ssl.endpoint.identification.algorithm"
    text = settings.texts.get(settings.name(key), "https").strip().lower()
    if text not in ("https", ""):
        raise TlsSettingsError(f"{settings.name(key)}: {text!r} must be https, or empty for no check")
    return text == "https"


def _context(protocol: int, settings: TlsSettings) -> ssl.SSLContext:
    """A context with the versions of the settings, without keys and trust."""
    for key in _UNSERVED:
        if settings.get(key) is not None:
            raise TlsSettingsError(f"{settings.name(key)} names a Java class, which cannot run here: remove the key")
    for key, known in _ALGORITHMS.items():
        text = settings.get(key)
        if text is not None and text.strip() not in known:
            raise TlsSettingsError(
                f"{settings.name(key)}: {text.strip()!r} is not supported; use one of {', '.join(known)}"
            )
    context = ssl.SSLContext(protocol)
    names = settings.entries("ssl.enabled.protocols") or list(_VERSIONS)
    name_of_key = settings.name("ssl.enabled.protocols")
    for name in names:
        if name not in _VERSIONS and name not in _OLD_VERSIONS:
            raise TlsSettingsError(f"{name_of_key}: {name!r} is unknown; use {', '.join(_VERSIONS)}")
    versions = [_VERSIONS[name] for name in names if name in _VERSIONS]
    if not versions:
        raise TlsSettingsError(f"{name_of_key}: {', '.join(names)}: none is supported; use {', '.join(_VERSIONS)}")
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    return context


def _set_suites(context: ssl.SSLContext, settings: TlsSettings, *, may_refuse: bool) -> frozenset[str]:
    """Applies ``ssl.cipher.suites``. Returns the unlisted TLS 1.3 suites that can still be negotiated: the caller must
    refuse connections with them.

    OpenSSL keeps all three TLS 1.3 suites enabled if any is listed. A TLS version without a listed suite is disabled.
    With ``may_refuse`` the list must have AES-256, which the server prefers, so that few clients negotiate another one.
    """
    key = settings.name("ssl.cipher.suites")
    suites = settings.entries("ssl.cipher.suites")
    if not suites:
        return frozenset()
    modern = [name for name in suites if name in TLS_1_3_SUITES]
    older = {name: openssl_name(name) for name in suites if name not in TLS_1_3_SUITES}
    if older:
        with contextlib.suppress(ssl.SSLError):  # none of them is known: the names are reported below
            context.set_ciphers(":".join(filter(None, older.values())))
    enabled = {str(suite["name"]) for suite in context.get_ciphers()}
    unknown = [name for name, openssl in older.items() if openssl not in enabled]
    if unknown:
        raise TlsSettingsError(f"{key}: {', '.join(unknown)}: unknown, or not supported by this OpenSSL")
    if not modern:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if not older:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if context.minimum_version > context.maximum_version:
        versions = settings.name("ssl.enabled.protocols")
        raise TlsSettingsError(f"{key}: no suite belongs to a protocol in {versions}")
    refused = frozenset(TLS_1_3_SUITES).difference(modern) if modern else frozenset()
    if refused and (not may_refuse or TLS_1_3_SUITES[0] not in modern):
        raise TlsSettingsError(
            f"{key}: the suites of TLS 1.3 can only be enabled together: add {', '.join(sorted(refused))},"
            " or remove all of them"
        )
    return refused


def _key_entry(settings: TlsSettings) -> KeyEntry | None:
    """The private key and certificates of the settings; None if none are set."""
    get, name = settings.get, settings.name
    location, password = get(KEYSTORE_LOCATION), get("ssl.keystore.password")
    key, chain = get("ssl.keystore.key"), get("ssl.keystore.certificate.chain")
    if key is not None or chain is not None:
        if key is None or chain is None:
            missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
            raise TlsSettingsError(f"{name('ssl.keystore.key')} and its certificate chain: {missing} is not set")
        if location is not None:
            raise TlsSettingsError(f"both {name(KEYSTORE_LOCATION)} and {name('ssl.keystore.key')} are set: remove one")
        _refuse_store_password(settings, "ssl.keystore")
        pem_key, pem_chain = key, chain
        _of(name("ssl.keystore.certificate.chain"), lambda: pem.certificates(pem_chain))
        return _of(
            name("ssl.keystore.key"), lambda: key_stores.pem_key_entry(pem_key, pem_chain, get("ssl.key.password"))
        )
    if location is None:
        if password is not None:
            raise TlsSettingsError(f"{name('ssl.keystore.password')} is set, but {KEYSTORE_LOCATION} is not")
        return None
    path = location
    place = f"{name(KEYSTORE_LOCATION)}={path}"
    data = _of(place, lambda: key_stores.read_file(path))
    if key_stores.is_pem(data):
        _refuse_store_password(settings, "ssl.keystore")
    elif password is None:
        raise TlsSettingsError(f"{place}: ssl.keystore.password is not set")
    return _of(place, lambda: key_stores.key_entry(data, password, get("ssl.key.password")))


def _trusted(settings: TlsSettings) -> tuple[bytes, ...]:
    """The trusted certificates of the settings; empty if none are set."""
    get, name = settings.get, settings.name
    location, password = get(TRUSTSTORE_LOCATION), get("ssl.truststore.password")
    inline = get("ssl.truststore.certificates")
    if inline is not None:
        if location is not None:
            raise TlsSettingsError(
                f"both {name(TRUSTSTORE_LOCATION)} and {name('ssl.truststore.certificates')} are set: remove one"
            )
        _refuse_store_password(settings, "ssl.truststore")
        text = inline
        return _of(name("ssl.truststore.certificates"), lambda: pem.certificates(text))
    if location is None:
        if password is not None:
            raise TlsSettingsError(f"{name('ssl.truststore.password')} is set, but {TRUSTSTORE_LOCATION} is not")
        return ()
    path = location
    place = f"{name(TRUSTSTORE_LOCATION)}={path}"
    data = _of(place, lambda: key_stores.read_file(path))
    if key_stores.is_pem(data):
        _refuse_store_password(settings, "ssl.truststore")
    return _of(place, lambda: key_stores.trusted_certificates(data, password))


def _refuse_store_password(settings: TlsSettings, store: str) -> None:
    """Raises TlsSettingsError if a PEM store has a store password, which would protect nothing. Kafka does the same."""
    if settings.get(f"{store}.password") is not None:
        name = settings.name(f"{store}.password")
        raise TlsSettingsError(f"{name} is set, but the store is PEM: only ssl.key.password can protect its key")


def _of(place: str, read: Callable[[], T]) -> T:
    """The result of reading a store; errors get the key and the file."""
    try:
        return read()
    except StoreError as error:
        raise TlsSettingsError(f"{place}: {error}") from None


def _load(context: ssl.SSLContext, entry: KeyEntry, settings: TlsSettings) -> None:
    """Gives a context its key and certificates."""
    place = key_place(settings)
    with secret_file(entry.as_pem()) as path:
        try:
            # Without a password OpenSSL would ask the terminal.
            context.load_cert_chain(path, password=lambda: entry.password or "")
        except ssl.SSLError as error:
            raise TlsSettingsError(f"{place}: {_cause(error, entry)}") from None
        except ValueError as error:
            raise TlsSettingsError(f"{place}: ssl.key.password: {error}") from None


def key_place(settings: TlsSettings) -> str:
    """The key that sets the private key and its certificates, with the path of the store; for messages."""
    if settings.get("ssl.keystore.key") is not None:
        return settings.name("ssl.keystore.key")
    return f"{settings.name(KEYSTORE_LOCATION)}={settings.get(KEYSTORE_LOCATION)}"


def _cause(error: ssl.SSLError, entry: KeyEntry) -> str:
    reason = (error.reason or str(error)).lower().replace("_", " ")
    if "key values mismatch" in reason:
        return "the private key does not belong to the first certificate"
    if entry.is_encrypted and ("decrypt" in reason or "cipher" in reason or "pem lib" in reason):
        return f"the private key can't be decrypted with ssl.key.password ({reason})"
    return f"OpenSSL refuses the key or the certificate ({reason})"


def _trust(context: ssl.SSLContext, settings: TlsSettings, purpose: ssl.Purpose) -> None:
    """Gives a context the certificates that it trusts; the system's, if no trust store is set, as Java does."""
    trusted = _trusted(settings)
    if not trusted:
        context.load_default_certs(purpose)
        return
    # Every certificate of a trust store is trusted in Java, an intermediate one and a peer's own one too.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for number, certificate in enumerate(trusted, 1):
        try:
            context.load_verify_locations(cadata=certificate)
        except ssl.SSLError as error:
            reason = (error.reason or str(error)).lower().replace("_", " ")
            inline = settings.get("ssl.truststore.certificates") is not None
            key = "ssl.truststore.certificates" if inline else TRUSTSTORE_LOCATION
            raise TlsSettingsError(f"{settings.name(key)}: OpenSSL refuses certificate {number} ({reason})") from None


def openssl_name(iana: str) -> str | None:
    """OpenSSL's name of a suite of TLS 1.2, such as ECDHE-RSA-AES128-GCM-SHA256, for the name of IANA, which Java and
    Kafka's configs use; None for one that is not known. Source: the register of TLS cipher suites; ciphers(1)."""
    match = _NAME.fullmatch(iana)
    if match is None:
        return None
    exchange, bits, mode, digest, chacha = match.groups()
    parts = [] if exchange == "RSA" else [exchange.replace("_", "-")]
    if chacha:
        return "-".join([*parts, "CHACHA20-POLY1305"])
    parts.append(f"AES{bits}")
    if mode.startswith("CCM"):
        return "-".join([*parts, mode.replace("_", "")])
    if mode == "GCM":
        parts.append("GCM")
    return "-".join([*parts, f"SHA{digest or ''}"])


@contextlib.contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """The path of a file with this content, valid inside the block: ``ssl`` can load keys only from paths.

    On Linux the file is in memory (memfd_create). On other systems, such as macOS, it is in a directory that only this
    user can read, and is removed as soon as the library has read it; the secret may remain in free blocks of the disk.
    """
    if sys.platform == "linux" and hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("odradek", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    directory = tempfile.mkdtemp()
    try:
        path = Path(directory) / "secret"
        path.touch(mode=0o600)
        path.write_bytes(content)
        yield str(path)
    finally:
        shutil.rmtree(directory)
