"""Certificates that have expired, at a real Kafka and at Odradek: of clients, in key stores and in trust stores.

Java takes a certificate of the trust store as it is; OpenSSL checks its validity, too. Everything else is equal.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.testing import InProcessBroker
from support.brokers.free_ports import free_ports
from support.kafka.real_kafka import RealKafka

from .expired_certificates import (
    INTERMEDIATE,
    INTERMEDIATE_NOT_SENT,
    KEY_STORES,
    LEAF,
    ROOT,
    TRUST_INTERMEDIATE,
    TRUST_OLD_ROOT,
    TRUST_ROOT,
    TRUST_STORES,
    VALID,
    ExpiredFiles,
    expired_files,
    is_served,
)

pytestmark = [pytest.mark.java, pytest.mark.ci]

ACCEPTED = {
    TRUST_ROOT: {"kafka": {VALID}, "ours": {VALID}},
    TRUST_INTERMEDIATE: {"kafka": {VALID, INTERMEDIATE, INTERMEDIATE_NOT_SENT}, "ours": {VALID}},
    TRUST_OLD_ROOT: {"kafka": {ROOT}, "ours": set()},
}
"""Trust store of a listener -> the key stores of clients that it accepts."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ExpiredFiles:
    return expired_files(tmp_path_factory.mktemp("expired"))


@pytest.fixture(scope="module", params=["ours", "kafka"])
def served(
    request: pytest.FixtureRequest, files: ExpiredFiles, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, int]]]:
    """The broker, ``ours`` or ``kafka``, and the ports of its SSL listeners by their stores."""
    settings = [(VALID, trust) for trust in TRUST_STORES] + [(key, TRUST_ROOT) for key in KEY_STORES]
    ports = free_ports(len(settings))
    listeners = {f"L{number}": port for number, port in enumerate(ports)}
    configs = {"listener.security.protocol.map": protocols(*listeners)}
    for name, (key, trust) in zip(listeners, settings, strict=True):
        configs |= files.listener(key, trust, f"listener.name.{name.lower()}.")
    directory = tmp_path_factory.mktemp(request.param)
    with started(request.param, directory, listeners, configs):
        by_trust = dict(zip(TRUST_STORES, ports, strict=False))
        yield request.param, by_trust | dict(zip(KEY_STORES, ports[len(TRUST_STORES) :], strict=True))


def protocols(*names: str) -> str:
    return ",".join([*(f"{name}:SSL" for name in names), "PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT"])


def started(
    which: str, directory: Path, listeners: dict[str, int], configs: dict[str, str]
) -> InProcessBroker | RealKafka:
    """A broker with these listeners and one in plain text, as a context manager that starts it."""
    texts = [f"{name}://127.0.0.1:{port}" for name, port in listeners.items()]
    if which == "ours":
        return InProcessBroker(directory, {"listeners": ",".join(["PLAINTEXT://127.0.0.1:0", *texts]), **configs})
    plain, controller = free_ports(2)
    texts += [f"PLAINTEXT://127.0.0.1:{plain}", f"CONTROLLER://127.0.0.1:{controller}"]
    kafka = RealKafka(directory, {"listeners": ",".join(texts), **configs})
    kafka.port, kafka.controller_port = plain, controller
    return kafka


@pytest.mark.parametrize("trust", TRUST_STORES)
def test_which_clients_are_accepted(served: tuple[str, dict[str, int]], files: ExpiredFiles, trust: str) -> None:
    which, ports = served
    assert {key for key in KEY_STORES if is_served(ports[trust], files.of(key))} == ACCEPTED[trust][which]


@pytest.mark.parametrize("key", KEY_STORES)
def test_a_listener_for_clients_serves_with_any_key_store(
    served: tuple[str, dict[str, int]], files: ExpiredFiles, key: str
) -> None:
    assert is_served(served[1][key], files.of(VALID))


@pytest.mark.parametrize(
    ("key", "trust", "starts"),
    [
        (LEAF, TRUST_ROOT, set()),
        (INTERMEDIATE, TRUST_ROOT, set()),
        (INTERMEDIATE, TRUST_INTERMEDIATE, {"kafka"}),
        (INTERMEDIATE_NOT_SENT, TRUST_INTERMEDIATE, {"kafka", "ours"}),
        (ROOT, TRUST_OLD_ROOT, {"kafka", "ours"}),
    ],
)
@pytest.mark.parametrize("which", ["ours", "kafka"])
def test_the_listener_between_brokers(
    files: ExpiredFiles, tmp_path: Path, which: str, key: str, trust: str, starts: set[str]
) -> None:
    [port] = free_ports(1)
    configs = files.listener(key, trust) | {"listener.security.protocol.map": protocols("SSL")}
    configs |= {"inter.broker.listener.name": "SSL"}
    broker = started(which, tmp_path / "broker", {"SSL": port}, configs)
    if which in starts:
        with broker:
            return
    with pytest.raises((ConfigError, RuntimeError), match=r"expired at|validity check failed"), broker:
        pytest.fail("it has started")
