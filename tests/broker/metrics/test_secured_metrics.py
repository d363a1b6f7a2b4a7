"""The metrics over TLS and with a password. Health probes need no password."""

import asyncio
import base64
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.server.broker_server import BrokerServer
from odradek.testing import InProcessBroker
from support.security.tls_files import TlsFiles, tls_files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return tls_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def address(files: TlsFiles) -> Iterator[str]:
    configs = {
        "odradek.metrics.listener": "127.0.0.1:0",
        "odradek.metrics.ssl.enable": "true",
        "odradek.metrics.credentials": "prometheus:open:sesame",
        **files.listener(),
    }
    with InProcessBroker(None, configs) as broker:
        [port] = broker.ports() - {broker.port}
        yield f"https://127.0.0.1:{port}"


def status(url: str, context: ssl.SSLContext, credentials: str | None = None) -> tuple[int, str]:
    request = urllib.request.Request(url)
    if credentials is not None:
        request.add_header("Authorization", "Basic " + base64.b64encode(credentials.encode()).decode())
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["WWW-Authenticate"] or ""


def test_only_a_client_with_the_password_reads_the_metrics(address: str, files: TlsFiles) -> None:
    context = ssl.create_default_context(cafile=files.trust)
    code, body = status(f"{address}/metrics", context, "prometheus:open:sesame")
    assert code == 200
    assert "kafka_" in body
    for wrong in (None, "prometheus:", "prometheus:open", "admin:open:sesame", ""):
        code, challenge = status(f"{address}/metrics", context, wrong)
        assert code == 401
        assert challenge.startswith("Basic realm=")
    assert status(f"{address}/health", context) == (200, "ok\n")


def test_a_client_that_does_not_trust_the_broker_reads_nothing(address: str) -> None:
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        status(f"{address}/metrics", ssl.create_default_context())


def test_a_missing_key_store_stops_the_start(tmp_path: Path) -> None:
    configs = {"odradek.metrics.listener": "127.0.0.1:0", "odradek.metrics.ssl.enable": "true"}
    with pytest.raises(ConfigError, match=r"odradek\.metrics\.ssl\.enable: ssl\.keystore\.location is not set"):
        InProcessBroker(tmp_path, configs).start()


async def test_a_changed_certificate_is_served_and_a_bad_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = tls_files(tmp_path)
    keys = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path / "logs"),
        "odradek.metrics.listener": "127.0.0.1:0",
        "odradek.metrics.ssl.enable": "true",
        **files.listener(),
    }
    server = BrokerServer(ServerConfig.load(None, [f"{key}={text}" for key, text in keys.items()], {}))
    running = await server.start()
    try:
        metrics = running.parts.metrics
        assert metrics is not None
        tls, port = metrics.tls, metrics.port
        assert tls is not None
        assert port is not None
        before = await serial(port)
        assert before == files.server.certificate.serial_number
        fresh = files.authority.issue("broker", ("localhost", "127.0.0.1"))
        fresh.write_pem(Path(files.server_store))
        await tls.look_at_files()
        assert await serial(port) == fresh.certificate.serial_number != before
        spoil(files)
        await tls.look_at_files()
        assert await serial(port) == fresh.certificate.serial_number
        [line] = [one.getMessage() for one in caplog.records if "were not reloaded" in one.getMessage()]
        assert files.server_store in line
        context = ssl.create_default_context(cafile=files.trust)
        assert await asyncio.to_thread(status, f"https://127.0.0.1:{port}/health", context) == (200, "ok\n")
    finally:
        await server.stop()


def spoil(files: TlsFiles) -> None:
    Path(files.server_store).write_text("nothing of use")


async def serial(port: int) -> int:
    """The serial number of the certificate on a new connection."""
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    return x509.load_pem_x509_certificate(pem.encode()).serial_number
