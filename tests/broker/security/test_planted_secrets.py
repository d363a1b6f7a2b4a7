"""Every kind of secret that a broker is given, searched in everything that it shows."""

import base64
import re
import ssl
import urllib.request
from pathlib import Path

import pytest

from support.brokers.free_ports import free_port
from support.brokers.our_broker import OurBroker
from support.security.tls_files import tls_files
from support.shell import Shell

pytestmark = pytest.mark.ci

MODULES = "org.apache.kafka.common.security"
LISTENER = "listener.name.sasl_ssl."
PLANTED = {
    name: f"planted-{name}-17ab" for name in ("node", "alice", "carol", "wrong", "keystore", "token-key", "metrics")
}


class TalkativeBroker(OurBroker):
    """A broker that logs all it can."""

    program = (*OurBroker.program, "--log-level", "debug")


def configs(directory: Path, metrics_port: int) -> dict[str, str]:
    """A broker with TLS, PLAIN, SCRAM, delegation tokens and secured metrics."""
    files = tls_files(directory)
    store = files.server.write_pkcs12(directory / "server.p12", PLANTED["keystore"])
    node, alice = PLANTED["node"], PLANTED["alice"]
    return {
        **files.listener(),
        "listeners": "SASL_SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PLANTED["keystore"],
        f"{LISTENER}plain.sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required username="node" '
        f'password="{node}" user_node="{node}" user_alice="{alice}";',
        f"{LISTENER}scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:alice",
        "delegation.token.secret.key": PLANTED["token-key"],
        "connection.failed.authentication.delay.ms": "1",
        "odradek.metrics.listener": f"127.0.0.1:{metrics_port}",
        "odradek.metrics.ssl.enable": "true",
        "odradek.metrics.credentials": f"prometheus:{PLANTED['metrics']}",
    }


def login(directory: Path, name: str, user: str, password: str, *, module: str = "plain.Plain", more: str = "") -> str:
    """The option of a command that logs in so."""
    mechanism = "PLAIN" if module == "plain.Plain" else "SCRAM-SHA-256"
    (directory / f"{name}.properties").write_text(
        "security.protocol=SASL_SSL\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={directory}/trust.pem\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={MODULES}.{module}LoginModule required username="{user}" password="{password}" {more};\n'
    )
    return f"--command-config {name}.properties"


def scraped(port: int, trust: Path) -> str:
    """All metrics."""
    request = urllib.request.Request(f"https://127.0.0.1:{port}/metrics")
    credentials = f"prometheus:{PLANTED['metrics']}".encode()
    request.add_header("Authorization", "Basic " + base64.b64encode(credentials).decode())
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=trust)) as answer:
        return str(answer.read().decode())


def test_a_planted_secret_is_shown_nowhere(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    metrics_port = free_port()
    with TalkativeBroker(tmp_path, configs(tmp_path, metrics_port)) as broker:
        at = f"--bootstrap-server {broker.bootstrap_servers}"
        admin = login(tmp_path, "alice", "alice", PLANTED["alice"])
        carol = f"SCRAM-SHA-256=[iterations=4096,password={PLANTED['carol']}]"
        shell.run(
            f"odradek configs {at} {admin} --alter --entity-type users --entity-name carol --add-config '{carol}'"
        )
        dynamic = f"{LISTENER}ssl.keystore.password={PLANTED['keystore']}"
        of_broker = "--entity-type brokers --entity-name 1"
        shell.run(f"odradek configs {at} {admin} --alter {of_broker} --add-config {dynamic}")
        made = shell.run(f"odradek delegation-tokens {at} {admin} --create --max-life-time-period -1")
        row = re.search(r"^(\S+)\s+(\S+==)\s", made, re.MULTILINE)
        assert row is not None, made
        token_id, digest = row[1], row[2]
        by_token = login(tmp_path, "token", token_id, digest, module="scram.Scram", more='tokenauth="true"')
        shell.run(f"odradek topics {at} {by_token} --create --topic orders")
        for name, module in (("alice", "plain.Plain"), ("carol", "scram.Scram")):
            wrong = login(tmp_path, f"wrong-{name}", name, PLANTED["wrong"], module=module)
            with shell.start(f"odradek topics {at} {wrong} --list") as refused:
                assert "authentication" in refused.communicate()[0].lower()
        shown = {
            "the description of the broker": shell.run(f"odradek configs {at} {admin} --describe --all {of_broker}"),
            "the description of the users": shell.run(f"odradek configs {at} {admin} --describe --entity-type users"),
            "the metrics": scraped(metrics_port, tmp_path / "trust.pem"),
            "the ready file": (tmp_path / "ready.json").read_text(),
        }
        shown["the log"] = broker.log()
        logs = sorted((broker.log_dir / "__cluster_metadata-0").glob("*.log"))
    shown["the log after the stop"] = broker.log()
    shown["the dump of the metadata"] = "".join(
        shell.run(f"odradek dump-log --cluster-metadata-decoder --files {log}") for log in logs
    )
    assert "SASL PLAIN failed" in shown["the log"]
    assert "SASL SCRAM-SHA-256 failed" in shown["the log"]
    assert "ssl.keystore.password" in shown["the description of the broker"]
    assert "carol" in shown["the description of the users"]
    assert "USER_SCRAM_CREDENTIAL_RECORD" in shown["the dump of the metadata"]
    assert "DELEGATION_TOKEN_RECORD" in shown["the dump of the metadata"]
    secrets = {**PLANTED, "the token's HMAC": digest}
    found = {(name, where) for name, secret in secrets.items() for where, text in shown.items() if secret in text}
    assert not found
