"""The commands and the client with our own broker with TLS, SASL and ACLs: users are created, authorized, limited and
removed."""

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.client.admin import Admin
from odradek.client.errors import AuthenticationError
from odradek.testing import BrokerSecurity, SecuredBroker
from support.security.secured_kafka import sasl, write_properties

from ..command_shell import Shell


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    configs = {"delegation.token.secret.key": "the-secret-of-tests", "connection.failed.authentication.delay.ms": "1"}
    running = SecuredBroker(tmp_path_factory.mktemp("secured"), configs, BrokerSecurity())
    with running:
        yield running


@pytest.fixture
def shell(
    broker: SecuredBroker,
    capfdbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """Runs commands as the administrator."""
    file = write_properties(tmp_path / "admin.properties", broker.client().java)
    monkeypatch.setenv("ODRADEK_COMMAND_CONFIG", str(file))
    return Shell(broker.bootstrap_servers, capfdbinary, tmp_path)


def file_of(broker: SecuredBroker, path: Path, mechanism: str, user: str, password: str, **more: str) -> str:
    """A properties file with another login."""
    return str(write_properties(path, {**broker.client().java, **sasl(mechanism, user, password, **more)}))


def test_a_user_is_made_allowed_and_removed(broker: SecuredBroker, shell: Shell, name: str, tmp_path: Path) -> None:
    password = 'p;w"\\ d'
    credential = ("--user", name, "--alter", "--add-config", f"SCRAM-SHA-256=[iterations=4096,password={password}]")
    assert shell.out("configs", *credential) == f"Completed updating config for user {name}.\n"
    described = shell.out("configs", "--user", name, "--describe")
    assert described == f"SCRAM credential configs for user-principal '{name}' are SCRAM-SHA-256=iterations=4096\n"
    login = ("--command-config", file_of(broker, tmp_path / "user.properties", "SCRAM-SHA-256", name, password))
    shell.out("topics", "--create", "--topic", name)
    shell.out("acls", "--add", "--topic", name, "--producer", "--allow-principal", f"User:{name}")
    send = ("produce", *login, "--topic", name, "--tombstone", "--key", "k")
    shell.out(*send)
    shell.out("acls", "--remove", "--force", "--topic", name)
    shell.out("acls", "--add", "--topic", name, "--deny-principal", f"User:{name}")
    code, _, err = shell.run(*send)
    assert (code, "Topic authorization failed" in err) == (1, True)
    shell.out("configs", "--user", name, "--alter", "--delete-config", "SCRAM-SHA-256")
    code, _, err = shell.run(*send)
    assert (code, f"(SCRAM-SHA-256, user '{name}') refuses the login" in err) == (1, True)


def test_a_delegation_token_is_made_used_and_expired(
    broker: SecuredBroker, shell: Shell, name: str, tmp_path: Path
) -> None:
    token = shell.json("delegation-tokens", "--create", "--max-life-time-period", "600000")
    login = sasl("SCRAM-SHA-512", token["tokenId"], token["hmac"], tokenauth="true")
    settings = {**broker.client().java, **login}

    async def log_in() -> None:
        async with Admin(broker.bootstrap_servers, security=settings) as admin:
            assert admin is not None

    asyncio.run(log_in())
    assert token["tokenId"] in shell.out("delegation-tokens", "--describe", "--owner-principal", "User:admin")
    hmac = ("--hmac", token["hmac"])
    assert base64.b64decode(token["hmac"])
    assert "Completed renew" in shell.out("delegation-tokens", "--renew", *hmac, "--renew-time-period", "60000")
    assert "Completed expire" in shell.out("delegation-tokens", "--expire", *hmac, "--expiry-time-period", "-1")
    with pytest.raises(AuthenticationError):
        asyncio.run(log_in())


def test_health_needs_a_login(broker: SecuredBroker, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell.out("health").startswith("healthy: cluster ")
    monkeypatch.delenv("ODRADEK_COMMAND_CONFIG")
    code, _, err = shell.run("health")
    assert (code, "security.protocol" in err) == (1, True)
