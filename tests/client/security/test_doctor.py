"""The doctor names the same mistakes on a real Kafka: its listeners, its logins, its advertised addresses."""

from pathlib import Path

import pytest

from support.brokers.free_ports import free_port
from support.kafka.real_kafka import RealKafka
from support.security.secured_kafka import MECHANISMS, SecuredKafka

from ..commands.doctor.running import Doctor, Report

pytestmark = pytest.mark.java


@pytest.fixture
def doctor(capfdbinary: pytest.CaptureFixture[bytes]) -> Doctor:
    return Doctor(capfdbinary)


def examined(doctor: Doctor, address: str, settings: dict[str, str]) -> Report:
    """The report for a client with these properties."""
    return doctor.examine(address, **{key.replace(".", "_"): value for key, value in settings.items()})


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SSL", "SASL_SSL"])
def test_nothing_is_wrong(secured: SecuredKafka, doctor: Doctor, listener: str) -> None:
    report = examined(doctor, secured.address(listener), secured.client(listener, user="admin"))
    assert not report.of("error", "warning"), report
    assert next(text for check, text, _ in report.of("ok") if check == "record").startswith("a record went there")


def test_logins(secured: SecuredKafka, doctor: Doctor) -> None:
    offered = MECHANISMS.replace(",", ", ")
    for listener, protocol in (("SASL_PLAINTEXT", "SASL_PLAINTEXT"), ("SASL_SSL", "SASL_SSL")):
        without = {key: value for key, value in secured.client(listener).items() if not key.startswith("sasl.")}
        without["security.protocol"] = without["security.protocol"].removeprefix("SASL_")
        check, text, step = examined(doctor, secured.address(listener), without).the_mistake()
        assert check == "login"
        assert sorted(text.partition("it offers ")[2].split(", ")) == sorted(offered.split(", "))
        assert f"security.protocol={protocol}" in step
    wrong = secured.client("SASL_SSL", password="wrong")
    _, text, _ = examined(doctor, secured.address("SASL_SSL"), wrong).the_mistake()
    assert text.startswith("the broker refuses the login with PLAIN: ")
    none = secured.client("SASL_PLAINTEXT")
    _, text, _ = examined(doctor, secured.bootstrap_servers, none).the_mistake()
    assert text == "the listener has no login, and security.protocol asks for one"


def test_protocols(secured: SecuredKafka, doctor: Doctor) -> None:
    _, text, _ = doctor.examine(secured.address("SSL")).the_mistake()
    assert text == f"{secured.address('SSL')} wants TLS, and security.protocol is PLAINTEXT"
    _, text, _ = examined(doctor, secured.bootstrap_servers, secured.client("SSL")).the_mistake()
    assert text == f"{secured.bootstrap_servers} speaks plain text, and security.protocol=SSL starts TLS"
    keyless = {key: value for key, value in secured.client("SSL").items() if "keystore" not in key}
    check, text, _ = examined(doctor, secured.address("SSL"), keyless).the_mistake()
    assert (check, "certificate" in text) == ("login", True)


def test_an_advertised_address_where_nobody_listens(tmp_path: Path, doctor: Doctor) -> None:
    kafka = RealKafka(tmp_path)
    kafka._configs["advertised.listeners"] = f"PLAINTEXT://localhost:{free_port()}"
    with kafka:
        check, text, _ = doctor.examine(kafka.bootstrap_servers).the_mistake()
    assert check == "advertised"
    assert text.startswith(f"I reached {kafka.bootstrap_servers}, and was told that broker 1 is at localhost:")
    assert text.endswith("refuses connections")
