"""The metrics over TLS and with a password; probes of health need none."""

import base64
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
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
