"""Key stores of a running broker: dynamic configs and changed files give new certificates, or the old ones stay.

The answers are those of a real Kafka 4.3.1: a new path with another name is INVALID_REQUEST, and the same path with
another name is accepted and changes nothing.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.testing.security.certificates import CertificateAuthority
from support.brokers.asking import Asking
from support.security.tls_files import TlsFiles, tls_files, write_unreadable

LOCATION = "listener.name.ssl.ssl.keystore.location"
Alter = IncrementalAlterConfigsRequest.AlterConfigsResource


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    return tls_files(tmp_path)


@asynccontextmanager
async def started(files: TlsFiles, tmp_path: Path) -> AsyncIterator[BrokerServer]:
    keys = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "log.dirs": str(tmp_path / "logs"),
        "offsets.topic.num.partitions": "1",
        **files.listener(),
    }
    broker = BrokerServer(ServerConfig.load(None, [f"{key}={text}" for key, text in keys.items()], {}))
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


@pytest.fixture
async def server(files: TlsFiles, tmp_path: Path) -> AsyncIterator[BrokerServer]:
    async with started(files, tmp_path) as running:
        yield running


def current_certificate(server: BrokerServer) -> bytes:
    """The certificate that new connections get."""
    assert server._tls is not None
    return server._tls.running["SSL"].current.certificate


def serial(server: BrokerServer) -> int:
    """The serial number of that certificate."""
    return x509.load_der_x509_certificate(current_certificate(server)).serial_number


async def ask(server: BrokerServer, request: Message, version: int) -> Any:
    """Sends a request over the PLAINTEXT listener; returns the answer."""
    return await asyncio.to_thread(Asking(server.listeners[0].port).ask, request, version)


async def alter(server: BrokerServer, changes: dict[str, str], broker: str = "1") -> tuple[int, str | None]:
    configs = [IncrementalAlterConfigsRequest.AlterableConfig(key, 0, text) for key, text in changes.items()]
    answer = await ask(server, IncrementalAlterConfigsRequest([Alter(4, broker, configs)]), 1)
    return answer.responses[0].error_code, answer.responses[0].error_message


def issue(
    files: TlsFiles,
    path: Path,
    name: str = "broker",
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1"),
    days: int = 90,
) -> int:
    issued = files.authority.issue(name, hosts, days=days)
    issued.write_pem(path)
    return issued.certificate.serial_number


def issue_with_expired_chain(files: TlsFiles, path: Path) -> None:
    expired = files.authority.subordinate("issuer", days=-2)
    expired.issue("broker", ("localhost", "127.0.0.1")).write_pem(path)


def write_nothing_of_use(files: TlsFiles) -> None:
    Path(files.server_store).write_text("nothing of use")


async def test_a_new_path_is_read_and_checked(server: BrokerServer, files: TlsFiles, tmp_path: Path) -> None:
    before = serial(server)
    fresh = issue(files, tmp_path / "fresh.pem")
    assert await alter(server, {LOCATION: str(tmp_path / "fresh.pem")}) == (ErrorCode.NONE, None)
    assert serial(server) == fresh != before
    issue(files, tmp_path / "other.pem", "somebody else")
    code, said = await alter(server, {LOCATION: str(tmp_path / "other.pem")})
    assert code == ErrorCode.INVALID_REQUEST
    assert "the certificate's name 'CN=somebody else' is not 'CN=broker'" in (said or "")
    issue(files, tmp_path / "fewer.pem", hosts=("localhost",))
    code, said = await alter(server, {LOCATION: str(tmp_path / "fewer.pem")})
    assert code == ErrorCode.INVALID_REQUEST
    assert "lacks 1 subject alternative names" in (said or "")
    code, said = await alter(server, {LOCATION: "/nowhere"})
    assert code == ErrorCode.INVALID_REQUEST
    assert "listener.name.ssl.ssl.keystore.location=/nowhere: can't be read" in (said or "")
    issue(files, tmp_path / "expired.pem", days=-2)
    code, said = await alter(server, {LOCATION: str(tmp_path / "expired.pem")})
    assert code == ErrorCode.INVALID_REQUEST
    assert "expired.pem: the certificate expired at 20" in (said or "")
    issue_with_expired_chain(files, tmp_path / "chain.pem")
    code, said = await alter(server, {LOCATION: str(tmp_path / "chain.pem")})
    assert code == ErrorCode.INVALID_REQUEST
    assert "chain.pem: certificate 2 of its chain (CN=issuer) expired at 20" in (said or "")
    write_unreadable(files.server, tmp_path / "unreadable.pem")
    code, said = await alter(server, {LOCATION: str(tmp_path / "unreadable.pem")})
    assert code == ErrorCode.INVALID_REQUEST
    assert "unreadable.pem: the validity of the certificate can't be read" in (said or "")
    assert serial(server) == fresh


async def test_the_same_path_is_read_again(
    server: BrokerServer, files: TlsFiles, caplog: pytest.LogCaptureFixture
) -> None:
    same = {LOCATION: files.server_store}
    before = serial(server)
    issue(files, Path(files.server_store), "somebody else")
    assert serial(server) == before
    assert await alter(server, same) == (ErrorCode.NONE, None)
    assert serial(server) == before
    assert "listener SSL keeps its certificate and trust store: the certificate's name" in caplog.text
    fresh = issue(files, Path(files.server_store))
    assert await alter(server, same) == (ErrorCode.NONE, None)
    assert serial(server) == fresh


async def test_only_one_broker_and_its_listeners_can_be_changed(server: BrokerServer, files: TlsFiles) -> None:
    for changes, name in (
        ({LOCATION: files.server_store}, ""),
        ({"ssl.keystore.location": files.server_store}, "1"),
        ({"listener.name.ssl.ssl.client.auth": "required"}, "1"),
    ):
        assert (await alter(server, changes, name))[0] == ErrorCode.INVALID_REQUEST


async def test_a_changed_file_is_noticed(
    server: BrokerServer, files: TlsFiles, caplog: pytest.LogCaptureFixture
) -> None:
    assert server._tls is not None
    before = serial(server)

    async def look() -> None:
        assert server._tls is not None
        server._tls.look_at_files()
        assert server._tls._reading is not None
        await server._tls._reading

    write_nothing_of_use(files)
    await look()
    assert serial(server) == before
    assert "server.pem: no private key" in caplog.text
    issue(files, Path(files.server_store), days=-2)
    await look()
    assert serial(server) == before
    assert "listener SSL keeps its certificate and trust store: ssl.keystore.location=" in caplog.text
    assert "server.pem: the certificate expired at 20" in caplog.text
    fresh = issue(files, Path(files.server_store))
    await look()
    assert serial(server) == fresh
    other = CertificateAuthority("another authority")
    context = server._tls.running["SSL"].current.context
    other.write_pem(Path(files.trust))
    await look()
    assert server._tls.running["SSL"].current.context is not context
    assert isinstance(context, ssl.SSLContext)


async def test_secrets_are_never_described(server: BrokerServer, files: TlsFiles, tmp_path: Path) -> None:
    files.server.write_pkcs12(tmp_path / "broker.p12", "opensesame")
    changes = {LOCATION: str(tmp_path / "broker.p12"), "listener.name.ssl.ssl.keystore.password": "opensesame"}
    assert await alter(server, changes) == (ErrorCode.NONE, None)
    request = DescribeConfigsRequest([DescribeConfigsRequest.DescribeConfigsResource(4, "1", None)])
    answer: DescribeConfigsResponse = await ask(server, request, 4)
    entries = {entry.name: entry for entry in answer.results[0].configs}
    assert entries["listener.name.ssl.ssl.keystore.password"].value is None
    assert entries["ssl.key.password"].value is None
    assert "opensesame" not in repr(answer)


INVALID: dict[str, Callable[[TlsFiles, Path], object]] = {
    "the certificate expired at 20": lambda files, path: issue(files, path, days=-2),
    "certificate 2 of its chain (CN=issuer) expired at 20": issue_with_expired_chain,
    "the validity of the certificate can't be read": lambda files, path: write_unreadable(files.server, path),
}


@pytest.mark.parametrize("problem", INVALID)
async def test_an_invalid_certificate_is_served_to_clients_with_a_warning(
    files: TlsFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture, problem: str
) -> None:
    """As in Kafka, which says nothing. A new trust store is taken, too: the certificate is the same."""
    INVALID[problem](files, Path(files.server_store))
    async with started(files, tmp_path) as server:
        assert "listener SSL: clients refuse its certificate: ssl.keystore.location=" in caplog.text
        assert f"server.pem: {problem}" in caplog.text
        before = current_certificate(server)
        CertificateAuthority("another authority").write_pem(Path(files.trust))
        assert await alter(server, {LOCATION: files.server_store}) == (ErrorCode.NONE, None)
        assert current_certificate(server) == before
        assert "keeps its certificate" not in caplog.text
