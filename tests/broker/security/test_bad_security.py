"""A wrong certificate, key store, JAAS configuration or mapping rule stops the start: one line, with no secret.

The line names the key, and the file and the place in it if the mistake is in a file or a text.
"""

import asyncio
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.server.broker_server import BrokerServer
from odradek.testing.security.certificates import CertificateAuthority
from support.security.tls_files import TlsFiles, tls_files, write_unreadable

SECRETS = ("hunter2-of-the-store", "hunter3-of-the-key", "hunter4-of-alice", "hunter5-of-tokens")
STORE, KEY, ALICE, TOKENS = SECRETS
MODULES = "org.apache.kafka.common.security"
PLAIN = "listener.name.l.plain.sasl.jaas.config"
SCRAM = "listener.name.l.scram-sha-256.sasl.jaas.config"
OAUTH = "listener.name.l.oauthbearer."
VALIDATOR = f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"

TLS = {"listener.security.protocol.map": "L:SSL"}
SASL = {"listener.security.protocol.map": "L:SASL_PLAINTEXT"}
OF_PLAIN = {**SASL, "sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN"}
OF_OAUTH = {
    **SASL,
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
    f"{OAUTH}sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
    f"{OAUTH}sasl.server.callback.handler.class": VALIDATOR,
}
STORE_KEY = "ssl.keystore.location"
CASES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "no such key store": ({**TLS, STORE_KEY: "{}/none.pem"}, (STORE_KEY, "none.pem")),
    "a key store with a wrong password": (
        {**TLS, STORE_KEY: "{}/server.p12", "ssl.keystore.password": STORE},
        (STORE_KEY, "server.p12", "password"),
    ),
    "a key store in JKS that is cut": (
        {**TLS, STORE_KEY: "{}/cut.jks", "ssl.keystore.password": STORE},
        (STORE_KEY, "cut.jks", "damaged"),
    ),
    "a key store in PKCS12 without a key": (
        {**TLS, STORE_KEY: "{}/trust.p12", "ssl.keystore.password": STORE},
        (STORE_KEY, "trust.p12", "no private key"),
    ),
    "a trust store with a wrong password": (
        {
            **TLS,
            STORE_KEY: "{}/server.pem",
            "ssl.truststore.location": "{}/server.p12",
            "ssl.truststore.password": STORE,
        },
        ("ssl.truststore.location", "server.p12", "password"),
    ),
    "a certificate that has expired": (
        {**TLS, STORE_KEY: "{}/expired.p12", "ssl.keystore.password": STORE},
        (STORE_KEY, "expired.p12", "the certificate expired at 20"),
    ),
    "an intermediate certificate that has expired": (
        {**TLS, STORE_KEY: "{}/expired-chain.pem"},
        (STORE_KEY, "expired-chain.pem", "certificate 2 of its chain (CN=issuer) expired at 20"),
    ),
    "a certificate whose validity can't be read": (
        {**TLS, STORE_KEY: "{}/unreadable.pem"},
        (STORE_KEY, "unreadable.pem", "the validity of the certificate can't be read: time data"),
    ),
    "an encrypted key with a wrong password": (
        {**TLS, STORE_KEY: "{}/encrypted.pem", "ssl.key.password": KEY},
        (STORE_KEY, "encrypted.pem", "ssl.key.password"),
    ),
    "a certificate with a damaged line": ({**TLS, STORE_KEY: "{}/damaged.pem"}, (STORE_KEY, "damaged.pem", "line")),
    "a certificate of another key": ({**TLS, STORE_KEY: "{}/other.pem"}, (STORE_KEY, "other.pem")),
    "an inline key that is none": (
        {**TLS, "ssl.keystore.type": "PEM", "ssl.keystore.key": KEY, "ssl.keystore.certificate.chain": "x"},
        ("ssl.keystore.certificate.chain",),
    ),
    "a trust store without certificates": (
        {**TLS, STORE_KEY: "{}/server.pem", "ssl.truststore.location": "{}/empty.pem"},
        ("ssl.truststore.location", "empty.pem"),
    ),
    "a mapping rule without its end": (
        {**TLS, STORE_KEY: "{}/server.pem", "ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/$1"},
        ("ssl.principal.mapping.rules",),
    ),
    "a mapping rule that is not an expression": (
        {**TLS, STORE_KEY: "{}/server.pem", "ssl.principal.mapping.rules": "DEFAULT,RULE:^CN=(.*$/$1/"},
        ("ssl.principal.mapping.rules",),
    ),
    "a JAAS string without its end": (
        {**OF_PLAIN, PLAIN: f'{MODULES}.plain.PlainLoginModule required user_alice="{ALICE}"'},
        (PLAIN, "line 1", "column"),
    ),
    "a JAAS string with a stray number": (
        {**OF_PLAIN, PLAIN: f'{MODULES}.plain.PlainLoginModule required user_alice="{ALICE}"\n user_bob=123;'},
        (PLAIN, "line 2", "column"),
    ),
    "a JAAS string of another mechanism": (
        {**OF_PLAIN, PLAIN: f'{MODULES}.scram.ScramLoginModule required password="{ALICE}";'},
        (PLAIN, "PlainLoginModule"),
    ),
    "a JAAS file without its end": (
        {**OF_PLAIN, "java.security.auth.login.config": "{}/jaas.conf"},
        ("java.security.auth.login.config", "jaas.conf", "line 3", "column"),
    ),
    "no such JAAS file": (
        {**OF_PLAIN, "java.security.auth.login.config": "{}/none.conf"},
        ("java.security.auth.login.config", "none.conf"),
    ),
    "keys of tokens that are not JSON": (
        {**OF_OAUTH, "sasl.oauthbearer.jwks.endpoint.url": "file://{}/jwks.json"},
        ("sasl.oauthbearer.jwks.endpoint.url", "jwks.json"),
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    """Good and bad stores. The stores have other passwords than the configured ones."""
    directory = tmp_path_factory.mktemp("bad")
    made = tls_files(directory)
    made.server.write_pkcs12(directory / "server.p12", "right")
    made.server.write_pem(directory / "encrypted.pem", "right")
    made.authority.issue("broker", ["localhost"], days=-2).write_pkcs12(directory / "expired.p12", STORE)
    expired_chain = made.authority.subordinate("issuer", days=-2).issue("broker", ["localhost"])
    expired_chain.write_pem(directory / "expired-chain.pem")
    write_unreadable(made.server, directory / "unreadable.pem")
    locked = BestAvailableEncryption(STORE.encode())
    (directory / "trust.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(None, None, None, [made.authority.certificate], locked)
    )
    lines = (directory / "server.pem").read_text().splitlines()
    (directory / "damaged.pem").write_text("\n".join([*lines[:-3], "!" + lines[-3], *lines[-2:]]))
    other = CertificateAuthority().issue("other")
    (directory / "other.pem").write_text(made.server.key_pem() + other.chain_pem)
    (directory / "empty.pem").write_text("nothing\n")
    (directory / "cut.jks").write_bytes(bytes.fromhex("feedfeed0000000200000001"))
    (directory / "jaas.conf").write_text(
        f'KafkaServer {{\n  {MODULES}.plain.PlainLoginModule required user_alice="{ALICE}"\n}};\n'
    )
    (directory / "jwks.json").write_text(f'{{"keys": "{TOKENS}"')
    return made


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_stops_the_start_and_is_named(
    files: TlsFiles, caplog: pytest.LogCaptureFixture, tmp_path: Path, case: str
) -> None:
    settings, named = CASES[case]
    settings = {key: text.replace("{}", str(files.directory)) for key, text in settings.items()}
    common = {"listeners": "L://127.0.0.1:0", "inter.broker.listener.name": "L", "log.dirs": str(tmp_path / "logs")}
    overrides = [f"{key}={text}" for key, text in {**common, **settings}.items()]
    caplog.set_level("DEBUG")
    with pytest.raises(ConfigError) as refused:
        asyncio.run(BrokerServer(ServerConfig.load(None, overrides, {})).start())
    said = str(refused.value)
    assert len(said.splitlines()) == 1, said
    assert not [part for part in named if part not in said], said
    assert not [secret for secret in SECRETS if secret in said + caplog.text]
