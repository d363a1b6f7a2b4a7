"""Certificate names, mapping rules and key stores are read as by Java and Kafka's own classes, in one JVM."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from odradek.broker.security.tls.principal_mapping import mapper, parse_rules
from odradek.protocol.security import der, distinguished_name
from odradek.protocol.security.tls_context import TlsSettings, TlsSettingsError, client_context, server_tls
from odradek.testing.security.certificates import CertificateAuthority, IssuedCertificate, rsa_key
from support.kafka.java_program import JavaProgram
from support.security.handshakes import handshake

pytestmark = pytest.mark.java

NAMES = 4_000
TEXT_TAGS = (0x02, 0x0C, 0x04, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E)
TYPES = [
    *("2.5.4.3", "2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10", "2.5.4.11"),
    *("0.9.2342.19200300.100.1.25", "0.9.2342.19200300.100.1.1"),
    *("1.2.840.113549.1.9.1", "2.5.4.5", "2.5.4.12", "2.5.4.42", "1.3.6.1.4.1.99999.7"),
]
LETTERS = [*'abcXYZ 019,=+<>#;"\\/\r\n\t\0\x7f', "ä", "€", "𝄞", "\u200f", "  ", "%", "é"]


class TlsOracle(JavaProgram):
    NAME = "TlsOracle"


@pytest.fixture(scope="module")
def java() -> Iterator[TlsOracle]:
    with TlsOracle() as program:
        yield program


def encoded_type(dotted: str) -> bytes:
    arcs = [int(one) for one in dotted.split(".")]
    content = bytearray()
    for arc in (arcs[0] * 40 + arcs[1], *arcs[2:]):
        septets = [arc & 0x7F]
        while arc := arc >> 7:
            septets.append(arc & 0x7F | 0x80)
        content += bytes(reversed(septets))
    assert der.dotted(bytes(content)) == dotted
    return der.encoded(der.OBJECT_IDENTIFIER, bytes(content))


def random_name(random: Random) -> bytes:
    relatives = []
    for _ in range(random.randint(0, 5)):
        values = []
        for _ in range(random.choice([1, 1, 1, 2])):
            text = "".join(random.choice(LETTERS) for _ in range(random.randint(1, 12)))
            tag = random.choice(TEXT_TAGS)
            content = text.encode("utf-16-be" if tag == 0x1E else "utf-8")
            value = der.encoded(tag, content)
            values.append(der.encoded(der.SEQUENCE, encoded_type(random.choice(TYPES)) + value))
        relatives.append(der.encoded(der.SET, b"".join(values)))
    return der.encoded(der.SEQUENCE, b"".join(relatives))


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_random_names_are_printed_as_java_prints_them(java: TlsOracle) -> None:
    random = Random(19)
    names = [random_name(random) for _ in range(NAMES)]
    printed = java.order({"names": [text(name) for name in names]})
    known = 0
    for name, expected in zip(names, printed, strict=True):
        if expected is not None:
            assert distinguished_name.printed(der.element(name)) == expected, name.hex()
            known += 1
    assert known > NAMES * 0.9


RULES = [
    "DEFAULT",
    "",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,DEFAULT",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    " RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U ,DEFAULT",
    "RULE:^CN=(?<who>.*?),.*$/${who}-$0/",
    "RULE:.*/x/",
    "RULE:(.*)/$1$2/",
    "RULE:^CN=(.)(.)(.*?),.*$/$12-$3\\$\\/\\\\/,DEFAULT",
    "RULE:^cn=.*$/never/,RULE:(CN|OU)=([^,]*).*/$2 of $1/U",
    "DEFAULT/L",
    "RULE:CN=(.*)/$1",
    "nonsense",
    "RULE:a/b/X",
]
MAPPED = [
    "CN=Duke,OU=ServiceUsers,O=Org,C=US",
    "CN=duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US",
    "CN=a\\,b,OU=ServiceUsers",
    "OU=JavaSoft,O=Sun Microsystems",
    "CN=x",
    "",
    "CN=Ünïcödé,OU=ServiceUsers",
]


def test_rules_map_names_as_kafka_does(java: TlsOracle) -> None:
    for rules in RULES:
        expected = java.order({"rules": rules, "mapped": MAPPED})
        if expected == ["malformed"]:
            with pytest.raises(ValueError, match=r"rule .* at character"):
                parse_rules(rules)
        else:
            assert [mapper(parse_rules(rules))(name) for name in MAPPED] == expected, rules


def keys_of(issued: IssuedCertificate, algorithm: str) -> dict[str, Any]:
    key = issued.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    chain = [text(one.public_bytes(Encoding.DER)) for one in issued.certificates]
    return {"key": text(key), "algorithm": algorithm, "chain": chain}


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
@pytest.mark.parametrize("algorithm", ["EC", "RSA"])
def test_stores_that_java_wrote_are_read(java: TlsOracle, tmp_path: Path, kind: str, algorithm: str) -> None:
    authority = CertificateAuthority()
    below = authority.subordinate("below")
    issued = below.issue("broker", ["localhost"], key=rsa_key() if algorithm == "RSA" else None)
    password = "a secret: ä€" if kind == "JKS" else "a secret"  # for PKCS12, Java accepts only ASCII
    key_password = "another secret" if kind == "JKS" else password
    store = {"type": kind, "path": str(tmp_path / "key"), "password": password, "keyPassword": key_password}
    java.order({"store": {**store, **keys_of(issued, algorithm)}})
    trusted = text(authority.certificate.public_bytes(Encoding.DER))
    java.order({"store": {"type": kind, "path": str(tmp_path / "trust"), "password": "trusted", "trusted": trusted}})
    settings = {
        "ssl.keystore.location": str(tmp_path / "key"),
        "ssl.keystore.password": password,
        "ssl.key.password": key_password,
        "ssl.keystore.type": kind,
    }
    trust = {"ssl.truststore.location": str(tmp_path / "trust"), "ssl.truststore.password": "trusted"}
    handshake(server_tls(TlsSettings(settings)).context, client_context(TlsSettings(trust)))
    without_key = {"ssl.keystore.location": str(tmp_path / "trust"), "ssl.keystore.password": "trusted"}
    with pytest.raises(TlsSettingsError, match=r"trust: no private key .*in it"):
        server_tls(TlsSettings(without_key))
    for wrong in ("ssl.keystore.password", *(["ssl.key.password"] if kind == "JKS" else [])):
        with pytest.raises(TlsSettingsError, match="password is wrong") as caught:
            server_tls(TlsSettings({**settings, wrong: "not this"}))
        assert "not this" not in str(caught.value)
    damaged = bytearray((tmp_path / "key").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "key").write_bytes(damaged)
    with pytest.raises((TlsSettingsError, ssl.SSLError)):
        server_tls(TlsSettings(settings))


def test_a_jceks_store_is_refused(java: TlsOracle, tmp_path: Path) -> None:
    issued = CertificateAuthority().issue("broker")
    store = {"type": "JCEKS", "path": str(tmp_path / "key"), "password": "secret", "keyPassword": "secret"}
    java.order({"store": {**store, **keys_of(issued, "EC")}})
    settings = {"ssl.keystore.location": str(tmp_path / "key"), "ssl.keystore.password": "secret"}
    with pytest.raises(TlsSettingsError, match="it is a JCEKS store, which is not read"):
        server_tls(TlsSettings(settings))


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_jks_store_is_an_error_and_nothing_else(java: TlsOracle, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    issued = CertificateAuthority().issue("broker")
    store = {"type": "JKS", "path": str(tmp_path / "key"), "password": "secret", "keyPassword": "secret"}
    java.order({"store": {**store, **keys_of(issued, "EC")}})
    data = bytearray((tmp_path / "key").read_bytes())
    for _ in range(random.randint(1, 3)):
        data[random.randrange(4, len(data))] = random.randrange(256)
    if random.random() < 0.5:
        del data[random.randrange(4, len(data)) :]
    (tmp_path / "key").write_bytes(data)
    settings = {"ssl.truststore.location": str(tmp_path / "key")}  # without a password the digest is not checked
    with suppress(TlsSettingsError):  # a change of bytes that are not read is not an error
        client_context(TlsSettings(settings))
