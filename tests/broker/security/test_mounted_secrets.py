"""A secret as Kubernetes mounts it: links through ``..data``, whose target changes when the secret is renewed.

docs/security.md, "Kubernetes secrets", has the manifest.
"""

import asyncio
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.server.broker_server import BrokerServer
from odradek.client import Admin
from odradek.client.errors import AuthenticationError
from odradek.protocol.security.jaas import PLAIN_MODULE
from odradek.testing.security.certificates import CertificateAuthority

AUTHORITY = CertificateAuthority("cluster")


def write_secret(volume: Path, version: str, password: str = "first") -> int:
    """Writes a version of the secret, and makes it the current one. Returns the certificate's serial number."""
    directory = volume / f"..{version}"
    directory.mkdir(parents=True)
    issued = AUTHORITY.issue("broker", ("localhost", "127.0.0.1"))
    issued.write_pem(directory / "broker.pem")
    AUTHORITY.write_pem(directory / "ca.pem")
    module = (
        f'{PLAIN_MODULE} required username="node" password="{password}" user_node="{password}" user_ann="{password}"'
    )
    (directory / "jaas.conf").write_text(f"KafkaServer {{ {module}; }};\n")
    fresh = volume / "..data_tmp"
    fresh.symlink_to(directory.name)
    fresh.rename(volume / "..data")
    for file in directory.iterdir():
        link = volume / file.name
        if not link.is_symlink():
            link.symlink_to(Path("..data") / file.name)
    return issued.certificate.serial_number


async def serial(port: int) -> int:
    """The serial number of the certificate on a new connection."""
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    return x509.load_pem_x509_certificate(pem.encode()).serial_number


async def test_a_broker_lives_from_a_mounted_secret(tmp_path: Path) -> None:
    volume = tmp_path / "secrets"
    first = write_secret(volume, "2026_11_25_1")
    keys = {
        "listeners": "CLIENTS://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENTS:SASL_SSL",
        "inter.broker.listener.name": "CLIENTS",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "ssl.keystore.location": str(volume / "broker.pem"),
        "ssl.truststore.location": str(volume / "ca.pem"),
        "java.security.auth.login.config": str(volume / "jaas.conf"),
        "log.dirs": str(tmp_path / "logs"),
        "offsets.topic.num.partitions": "1",
    }
    server = BrokerServer(ServerConfig.load(None, [f"{key}={text}" for key, text in keys.items()], {}))
    await server.start()
    try:
        port = server.listeners[0].port
        assert await serial(port) == first
        await ask(port, volume, "first")
        with pytest.raises(AuthenticationError):
            await ask(port, volume, "wrong")
        second = write_secret(volume, "2026_11_25_2")
        assert second != first
        assert server._tls is not None
        server._tls.look_at_files()
        assert server._tls._reading is not None
        await server._tls._reading
        assert await serial(port) == second
        await ask(port, volume, "first")
    finally:
        await server.stop()


async def test_users_of_plain_follow_the_jaas_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A new password applies to the next login, and a removed user can't log in. An invalid file changes nothing."""
    volume = tmp_path / "secrets"
    write_secret(volume, "1")
    keys = {
        "listeners": "CLIENTS://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENTS:SASL_SSL",
        "inter.broker.listener.name": "CLIENTS",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "ssl.keystore.location": str(volume / "broker.pem"),
        "java.security.auth.login.config": str(volume / "jaas.conf"),
        "connection.failed.authentication.delay.ms": "1",
        "log.dirs": str(tmp_path / "logs"),
        "offsets.topic.num.partitions": "1",
    }
    server = BrokerServer(ServerConfig.load(None, [f"{key}={text}" for key, text in keys.items()], {}))
    await server.start()
    try:
        port = server.listeners[0].port
        await ask(port, volume, "first")
        write_secret(volume, "2", "other-one")
        with pytest.raises(AuthenticationError):
            await ask(port, volume, "first")
        await ask(port, volume, "other-one")
        (volume / "..2" / "jaas.conf").write_text("KafkaServer { other-one")
        await ask(port, volume, "other-one")
        assert "the users of PLAIN of the listener CLIENTS were not reloaded" in caplog.text
        (volume / "..2" / "jaas.conf").write_text(f'KafkaServer {{ {PLAIN_MODULE} required user_bob="x"; }};')
        with pytest.raises(AuthenticationError):
            await ask(port, volume, "other-one")
        assert "other-one" not in caplog.text
    finally:
        await server.stop()


async def ask(port: int, volume: Path, password: str) -> None:
    """Requests the topics as the user ann."""
    settings = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": str(volume / "ca.pem"),
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} required username="ann" password="{password}";',
    }
    async with Admin(f"localhost:{port}", security=settings) as admin:
        await admin.list_topics()
