"""The ``ssl.*`` keys make a TLS context: stores of every format, versions, suites, client certificates."""

import ssl
from pathlib import Path

import pytest

from odradek.protocol.security.tls_context import (
    TlsSettings,
    TlsSettingsError,
    client_context,
    listener_settings,
    server_tls,
)
from odradek.testing.security.certificates import CertificateAuthority, IssuedCertificate, rsa_key
from support.security.handshakes import handshake


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture(scope="module")
def server(authority: CertificateAuthority) -> IssuedCertificate:
    return authority.issue("broker", ["localhost", "127.0.0.1"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, authority: CertificateAuthority, server: IssuedCertificate) -> Path:
    directory = tmp_path_factory.mktemp("stores")
    authority.write_pem(directory / "trust.pem")
    server.write_pem(directory / "server.pem")
    server.write_pem(directory / "locked.pem", "opensesame")
    server.write_pkcs12(directory / "server.p12", "opensesame")
    authority.issue("alice").write_pem(directory / "alice.pem")
    CertificateAuthority().issue("mallory").write_pem(directory / "mallory.pem")
    return directory


def pem_server(files: Path, **more: str) -> TlsSettings:
    return TlsSettings({"ssl.keystore.location": str(files / "server.pem"), **dotted(more)})


def dotted(settings: dict[str, str]) -> dict[str, str]:
    return {f"ssl.{key.replace('_', '.')}": text for key, text in settings.items()}


def client(files: Path, **more: str) -> ssl.SSLContext:
    return client_context(TlsSettings({"ssl.truststore.location": str(files / "trust.pem"), **dotted(more)}))


def test_a_client_trusts_the_server_by_its_authority(files: Path) -> None:
    _, one = handshake(server_tls(pem_server(files)).context, client(files))
    assert one.object.version() == "TLSv1.3"


def test_a_client_checks_the_name_unless_the_algorithm_is_empty(files: Path) -> None:
    context = server_tls(pem_server(files)).context
    handshake(context, client(files), "127.0.0.1")
    with pytest.raises(ssl.SSLCertVerificationError, match=r"[Hh]ostname mismatch"):
        handshake(context, client(files), "elsewhere")
    handshake(context, client(files, endpoint_identification_algorithm=""), "elsewhere")


def test_a_client_refuses_another_authority(files: Path, tmp_path: Path) -> None:
    other = CertificateAuthority().write_pem(tmp_path / "other.pem")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(
            server_tls(pem_server(files)).context,
            client_context(TlsSettings({"ssl.truststore.location": str(other)})),
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"ssl.keystore.location": "locked.pem", "ssl.key.password": "opensesame"},
        {"ssl.keystore.location": "server.p12", "ssl.keystore.password": "opensesame"},
        {"ssl.keystore.location": "server.p12", "ssl.keystore.password": "opensesame", "ssl.keystore.type": "JKS"},
    ],
    ids=["encrypted PEM", "PKCS12", "PKCS12 called JKS"],
)
def test_key_stores_are_read(files: Path, settings: dict[str, str]) -> None:
    texts = {**settings, "ssl.keystore.location": str(files / settings["ssl.keystore.location"])}
    handshake(server_tls(TlsSettings(texts)).context, client(files))


@pytest.mark.parametrize("joined", ["\n", " "], ids=["lines", "one line"])
@pytest.mark.parametrize("password", [None, "opensesame"])
def test_keys_and_certificates_are_read_from_settings(
    authority: CertificateAuthority, server: IssuedCertificate, joined: str, password: str | None
) -> None:
    texts = {
        "ssl.keystore.key": server.key_pem(password).replace("\n", joined),
        "ssl.keystore.certificate.chain": server.chain_pem.replace("\n", joined),
        "ssl.keystore.type": "PEM",
        "ssl.key.password": password or "",
    }
    trust = {"ssl.truststore.certificates": authority.pem.replace("\n", joined), "ssl.truststore.type": "PEM"}
    handshake(server_tls(TlsSettings(texts)).context, client_context(TlsSettings(trust)))


def test_a_chain_of_authorities_and_rsa(tmp_path: Path, authority: CertificateAuthority) -> None:
    issued = authority.subordinate("below").subordinate("further below").issue("broker", ["localhost"], key=rsa_key())
    trust = {"ssl.truststore.certificates": authority.pem}
    for path in (issued.write_pem(tmp_path / "chain.pem"), issued.write_pkcs12(tmp_path / "chain.p12", "opensesame")):
        texts = {"ssl.keystore.location": str(path)}
        if path.suffix == ".p12":
            texts["ssl.keystore.password"] = "opensesame"
        handshake(server_tls(TlsSettings(texts)).context, client_context(TlsSettings(trust)))


def test_a_certificate_of_the_trust_store_is_trusted_itself(server: IssuedCertificate, files: Path) -> None:
    trust = {"ssl.truststore.certificates": server.chain_pem}
    handshake(server_tls(pem_server(files)).context, client_context(TlsSettings(trust)))


@pytest.mark.parametrize(
    ("auth", "certificate", "accepted"),
    [
        ("none", None, True),
        ("none", "mallory", True),
        ("requested", None, True),
        ("requested", "alice", True),
        ("requested", "mallory", False),
        ("required", None, False),
        ("required", "alice", True),
        ("required", "mallory", False),
    ],
)
def test_client_certificates(files: Path, auth: str, certificate: str | None, accepted: bool) -> None:
    context = server_tls(pem_server(files, client_auth=auth, truststore_location=str(files / "trust.pem"))).context
    more = {} if certificate is None else {"keystore_location": str(files / f"{certificate}.pem")}
    if not accepted:
        with pytest.raises(ssl.SSLError):
            handshake(context, client(files, **more))
        return
    broker, _ = handshake(context, client(files, **more))
    shown = broker.object.getpeercert(binary_form=True) is not None
    assert shown == (certificate is not None and auth != "none")


@pytest.mark.parametrize(
    ("server_versions", "client_versions", "agreed"),
    [
        ("TLSv1.2,TLSv1.3", "TLSv1.2", "TLSv1.2"),
        ("TLSv1.2", "TLSv1.2,TLSv1.3", "TLSv1.2"),
        ("TLSv1.3", "TLSv1.2,TLSv1.3", "TLSv1.3"),
        ("TLSv1,TLSv1.1,TLSv1.2", "TLSv1.2", "TLSv1.2"),
        ("TLSv1.3", "TLSv1.2", None),
    ],
)
def test_versions(files: Path, server_versions: str, client_versions: str, agreed: str | None) -> None:
    context = server_tls(pem_server(files, enabled_protocols=server_versions)).context
    asking = client(files, enabled_protocols=client_versions)
    if agreed is None:
        with pytest.raises(ssl.SSLError):
            handshake(context, asking)
    else:
        assert handshake(context, asking)[1].object.version() == agreed


def test_suites(files: Path) -> None:
    suites = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    context = server_tls(pem_server(files, cipher_suites=suites)).context
    agreed = handshake(context, client(files))[1].object.cipher()
    assert agreed is not None
    assert agreed[:2] == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2")
    only_modern = server_tls(pem_server(files, cipher_suites="TLS_AES_256_GCM_SHA384"))
    assert only_modern.refused_suites == {"TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"}
    assert handshake(only_modern.context, client(files))[1].object.version() == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        handshake(only_modern.context, client(files, enabled_protocols="TLSv1.2"))


def test_keys_of_a_listener_take_precedence(files: Path) -> None:
    texts = {
        "ssl.keystore.location": "/nowhere",
        "listener.name.outside.ssl.keystore.location": str(files / "server.pem"),
        "listener.name.other.ssl.client.auth": "required",
    }
    handshake(server_tls(listener_settings(texts, "OUTSIDE")).context, client(files))
    with pytest.raises(TlsSettingsError, match=r"^ssl\.keystore\.location=/nowhere: can't be read"):
        server_tls(listener_settings(texts, "INSIDE"))


BAD_SERVERS = [
    ({}, r"^ssl\.keystore\.location is not set"),
    ({"location": "gone.pem"}, r"gone\.pem: can't be read: No such file"),
    ({"location": "locked.pem"}, r"locked\.pem: line 1: the private key is encrypted, and ssl\.key\.password"),
    ({"location": "locked.pem", "key": "wrong"}, r"locked\.pem: the private key can't be decrypted"),
    ({"location": "server.p12"}, r"server\.p12: ssl\.keystore\.password is not set"),
    ({"location": "server.p12", "password": "wrong"}, r"server\.p12: the password is wrong"),
    ({"location": "trust.pem"}, r"trust\.pem: no private key"),
    ({"location": "server.pem", "password": "needless"}, r"^ssl\.keystore\.password is set, but the store is PEM"),
    ({"password": "lonely"}, r"^ssl\.keystore\.password is set, but ssl\.keystore\.location is not"),
]


@pytest.mark.parametrize(("store", "message"), BAD_SERVERS, ids=[message for _, message in BAD_SERVERS])
def test_a_bad_key_store_is_named_and_no_secret_is(files: Path, store: dict[str, str], message: str) -> None:
    texts = {}
    if "location" in store:
        texts["ssl.keystore.location"] = str(files / store["location"])
    if "password" in store:
        texts["ssl.keystore.password"] = store["password"]
    if "key" in store:
        texts["ssl.key.password"] = store["key"]
    with pytest.raises(TlsSettingsError, match=message) as caught:
        server_tls(TlsSettings(texts))
    for secret in ("needless", "lonely", "wrong\n", "opensesame"):
        assert secret not in str(caught.value)


BAD_SETTINGS = [
    ("ssl.client.auth", "perhaps", "'perhaps' is not one of none, requested, required"),
    ("ssl.enabled.protocols", "TLSv1.1", "none is supported; use TLSv1.2, TLSv1.3"),
    ("ssl.enabled.protocols", "TLSv9", "'TLSv9' is unknown"),
    ("ssl.protocol", "SSLv3", "'SSLv3' is not supported"),
    ("ssl.cipher.suites", "TLS_RSA_WITH_RC4_128_MD5", "TLS_RSA_WITH_RC4_128_MD5: unknown"),
    ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256", "can only be enabled together: add TLS_AES_256_GCM_SHA384"),
    ("ssl.engine.factory.class", "org.example.Factory", "names a Java class"),
    ("ssl.provider", "BCFIPS", "names a Java class"),
    ("ssl.truststore.location", "/nowhere", "ssl.truststore.location=/nowhere: can't be read"),
    ("ssl.truststore.certificates", "none here", "ssl.truststore.certificates: no certificate"),
]


@pytest.mark.parametrize(("key", "text", "message"), BAD_SETTINGS)
def test_a_setting_that_can_not_be_served_is_an_error(files: Path, key: str, text: str, message: str) -> None:
    with pytest.raises(TlsSettingsError) as caught:
        server_tls(TlsSettings({**pem_server(files).texts, key: text}))
    assert message in str(caught.value)
    assert key in str(caught.value)


def test_a_key_of_another_certificate_is_refused(authority: CertificateAuthority, server: IssuedCertificate) -> None:
    texts = {"ssl.keystore.key": authority.issue("other").key_pem(), "ssl.keystore.certificate.chain": server.chain_pem}
    with pytest.raises(TlsSettingsError, match=r"^ssl\.keystore\.key: .*not belong to the first certificate"):
        server_tls(TlsSettings(texts))


def test_secrets_have_no_repr(files: Path) -> None:
    settings = pem_server(files, key_password="opensesame")
    assert "opensesame" not in repr(settings)
    assert "opensesame" not in repr(server_tls(settings))
