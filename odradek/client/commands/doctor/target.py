"""The listener behind an address: its name, its port, what it speaks, its certificate, its login.

Owns: the checks up to the first answered request. Never does: anything about the cluster behind the listener. Each
diagnosis is yielded as soon as it is known; an error ends the checks that need what failed.
"""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.security import SaslHandshakeRequest, SaslHandshakeResponse

from ...cluster.connection import BrokerConnection, address_of
from ...errors import AuthenticationError, BrokerConnectionError, ClientError
from ...security.sasl_settings import sasl_settings
from ...security.secured import ConnectionSecurity
from ...security.settings import Security
from ...security.tls import context_of, tls_failure
from .diagnosis import Diagnosis, Verdict, error, ok, warning
from .first_bytes import Speaks, ask_the_port

HOST_MISMATCH, ADDRESS_MISMATCH, EXPIRED, NOT_YET_VALID = 62, 64, 10, 9
"""OpenSSL's codes of ``X509_verify_cert``."""
DAYS_LEFT = 30
"""A certificate that expires sooner is a warning."""
NO_MECHANISM = "odradek-doctor"


@dataclass(slots=True)
class Target:
    """An address that is tried, and what was learnt there."""

    host: str
    port: int
    security: Security | None
    timeout_s: float
    secured: ConnectionSecurity | None = field(init=False)
    connection: BrokerConnection | None = None
    """Open after the checks if none of them failed; the caller closes it."""
    metadata: MetadataResponse | None = None
    """The brokers, without topics."""

    def __post_init__(self) -> None:
        """Raises ConfigurationError for a key store that can't be read."""
        self.secured = None if self.security is None else ConnectionSecurity(self.security)

    @property
    def address(self) -> str:
        """``host:port``."""
        return address_of(self.host, self.port)

    async def open(self, security: ConnectionSecurity | None) -> BrokerConnection:
        """A connection to it. Raises the errors of :meth:`.BrokerConnection.open`."""
        timeout_ms = self.timeout_s * 1000
        return await BrokerConnection.open(
            self.host,
            self.port,
            client_id="odradek-doctor",
            request_timeout_ms=timeout_ms,
            connection_timeout_ms=timeout_ms,
            secured=security,
        )


async def check_target(target: Target) -> AsyncIterator[Diagnosis]:
    """All checks of a listener, in the order in which a client meets them. Nothing follows an error."""
    for check in (_check_name, _check_port, _check_certificate, _check_login):
        diagnosis = await check(target)
        if diagnosis is not None:
            yield diagnosis
            if diagnosis.verdict is Verdict.ERROR:
                return


async def _check_name(target: Target) -> Diagnosis:
    """Whether the host's name has addresses."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except OSError as failure:
        text = f"the name {target.host} is not known here: {failure.strerror}"
        return error("name", text, "Check the spelling, and the DNS or the hosts file of this machine or container.")
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    return ok("name", f"{target.host} is {', '.join(addresses)}")


async def _check_port(target: Target) -> Diagnosis:
    """Whether the port accepts a connection, and speaks what the settings ask for."""
    try:
        speaks, answer = await ask_the_port(target.host, target.port, target.timeout_s)
    except (OSError, TimeoutError) as failure:
        return unreachable("port", target.address, failure)
    return judge_speech(target.address, speaks, answer, target.security)


def unreachable(check: str, address: str, failure: OSError) -> Diagnosis:
    """The diagnosis for a connection that could not be made. TimeoutError is an OSError, too."""
    if isinstance(failure, ConnectionRefusedError):
        step = "Start the broker, or check the port: no program listens there."
        return error(check, f"{address} refuses connections", step)
    if isinstance(failure, TimeoutError):
        step = "A firewall or a wrong address drops the packets: check what is between this machine and the broker."
        return error(check, f"{address} does not answer at all", step)
    reason = os.strerror(failure.errno) if failure.errno else str(failure)
    return error(check, f"{address} can't be reached: {reason}", "Check the address and the network.")


def judge_speech(address: str, speaks: Speaks, answer: bytes, security: Security | None) -> Diagnosis:
    """The diagnosis for what a port speaks, compared with what the client's settings ask for."""
    wants_tls = security is not None and security.has_tls
    protocol = "PLAINTEXT" if security is None else security.protocol
    if speaks is Speaks.KAFKA and not wants_tls:
        return ok("port", f"{address} speaks Kafka in plain text")
    if speaks is Speaks.TLS and wants_tls:
        return ok("port", f"{address} speaks TLS")
    if speaks is Speaks.KAFKA:
        step = "Use the port of a listener with TLS, or security.protocol=PLAINTEXT (SASL_PLAINTEXT with a login)."
        return error("port", f"{address} speaks plain text, and security.protocol={protocol} starts TLS", step)
    if speaks is Speaks.TLS:
        step = "Set security.protocol=SSL (SASL_SSL with a login), or use the port of a listener without TLS."
        return error("port", f"{address} wants TLS, and security.protocol is {protocol}", step)
    if speaks is Speaks.HTTP:
        return error("port", f"an HTTP server answers at {address}, not a Kafka broker", "Check the port.")
    if speaks is Speaks.OTHER:
        return error("port", f"another program answers at {address}, with {answer!r}", "Check host and port.")
    step = "Look at the broker's log: it starts, or is stuck. Or a proxy has no broker behind it."
    return error("port", f"{address} accepts connections and does not answer a Kafka request", step)


async def _check_certificate(target: Target) -> Diagnosis | None:
    """Whether the client trusts the broker's certificate, and for how long it is valid."""
    if target.security is None or not target.security.has_tls:
        return None
    try:
        certificate = await _certificate(target, context_of(target.security))
    except ssl.SSLCertVerificationError as failure:
        return await _untrusted(target, target.security, failure)
    except ssl.SSLError as failure:
        step = "Compare ssl.enabled.protocols and ssl.cipher.suites of both sides."
        return error("certificate", f"the TLS handshake fails: {tls_failure(failure)}", step)
    except (OSError, TimeoutError) as failure:
        return unreachable("certificate", target.address, failure)
    return judge_validity(certificate, time.time())


async def _certificate(target: Target, context: ssl.SSLContext) -> Mapping[str, Any]:
    """The broker's certificate, as Python describes it. Raises ssl.SSLError, OSError, TimeoutError."""
    async with asyncio.timeout(target.timeout_s):
        _, writer = await asyncio.open_connection(target.host, target.port, ssl=context, server_hostname=target.host)
    try:
        return dict(writer.get_extra_info("peercert") or {})
    finally:
        writer.transport.abort()


async def _untrusted(target: Target, security: Security, failure: ssl.SSLCertVerificationError) -> Diagnosis:
    """The diagnosis for a certificate that was refused. For a wrong name, a second handshake reads the right ones."""
    if failure.verify_code in (HOST_MISMATCH, ADDRESS_MISMATCH):
        context = context_of(security)
        context.check_hostname = False
        names = ", ".join(names_of(await _certificate(target, context))) or "no host"
        step = "Connect by one of its names, or issue one that has this name as a subject alternative name."
        return error("certificate", f"the certificate is for {names}; you called {target.host}", step)
    if failure.verify_code in (EXPIRED, NOT_YET_VALID):
        step = "Renew it, and compare the clocks of both machines."
        return error("certificate", f"the broker's certificate is refused: {failure.verify_message}", step)
    step = "Put the authority that issued it into ssl.truststore.location (PEM, JKS or PKCS12)."
    return error("certificate", f"the broker's certificate is not trusted: {failure.verify_message}", step)


def names_of(certificate: Mapping[str, Any]) -> list[str]:
    """The host names and IP addresses that a certificate is for."""
    return [str(name) for kind, name in certificate.get("subjectAltName", ()) if kind in ("DNS", "IP Address")]


def judge_validity(certificate: Mapping[str, Any], now_s: float) -> Diagnosis:
    """The diagnosis for a certificate that is trusted, by the days until it expires."""
    days = int(ssl.cert_time_to_seconds(certificate["notAfter"]) - now_s) // 86_400
    text = f"the certificate is trusted, and valid for {days} more days"
    if days < DAYS_LEFT:
        return warning("certificate", text, "Renew it in time; a broker takes a new one without a restart.")
    return ok("certificate", text)


async def _check_login(target: Target) -> Diagnosis:
    """Whether the broker takes the client's login, or serves it without one."""
    security = target.security
    try:
        connection = await target.open(target.secured)
    except AuthenticationError as refusal:
        return await _refused(target, str(refusal))
    except ClientError as failure:
        return error("login", str(failure), "Look at the broker's log at this time.")
    try:
        target.metadata = await connection.call(MetadataRequest(topics=[]), MetadataResponse)
    except BrokerConnectionError as failure:
        connection.close()
        return await _refused(target, str(failure))
    except ClientError as failure:
        connection.close()
        return error("login", str(failure), "Look at the broker's log at this time.")
    target.connection = connection
    if security is None or not security.has_sasl:
        return ok("login", "the listener asks for none")
    return ok("login", f"the broker takes the login with {mechanism_of(security)}")


async def _refused(target: Target, reason: str) -> Diagnosis:
    """The diagnosis for a client that the broker refuses. The mechanisms that the listener offers tell the cause."""
    security = target.security
    offered = await _mechanisms(target)
    if offered is None:
        return error("login", f"the broker refuses the client: {reason}", "Look at the broker's log at this time.")
    if not offered:
        step = "Use security.protocol=SSL or PLAINTEXT there, or the port of a listener with SASL."
        return error("login", "the listener has no login, and security.protocol asks for one", step)
    mechanisms = ", ".join(offered)
    if security is None or not security.has_sasl:
        protocol = "SASL_SSL" if security is not None else "SASL_PLAINTEXT"
        step = f"Set security.protocol={protocol}, sasl.mechanism and sasl.jaas.config."
        return error("login", f"the listener requires a login; it offers {mechanisms}", step)
    if mechanism_of(security) not in offered:
        step = f"Set sasl.mechanism to one of them: {mechanisms}."
        return error("login", f"the listener offers {mechanisms}; you used {mechanism_of(security)}", step)
    step = "Check the name and the password in sasl.jaas.config, and that the user exists on this cluster."
    return error("login", f"the broker refuses the login with {mechanism_of(security)}: {reason}", step)


async def _mechanisms(target: Target) -> list[str] | None:
    """The SASL mechanisms that the listener offers: none if it has no login, None if that is not known."""
    security = None
    if target.security is not None and target.security.has_tls:
        security = ConnectionSecurity(Security("SSL", target.security.texts))
    try:
        connection = await target.open(security)
    except ClientError:
        return None
    try:
        answer = await connection.call(SaslHandshakeRequest(NO_MECHANISM), SaslHandshakeResponse)
    except ClientError:
        return None
    finally:
        connection.close()
    return [] if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE else answer.mechanisms


def mechanism_of(security: Security) -> str:
    """The SASL mechanism of the client's settings."""
    return sasl_settings(security.texts).mechanism
