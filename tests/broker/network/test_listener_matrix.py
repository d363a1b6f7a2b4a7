"""Listener forms, address families, advertised names and TLS names: every combination, with a broker in a process.

A wildcard of either family takes clients of both, as in a JVM. What a machine may lack (a link-local address) or has
(IPv6) is set up in a network namespace of the test's own.
"""

import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from urllib.request import urlopen

import pytest
from confluent_kafka import Producer

from odradek.broker.config.listeners import Listener
from odradek.broker.network.listening import bind
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.testing.security.certificates import CertificateAuthority
from support.brokers.free_ports import free_ports
from support.brokers.our_broker import OurBroker

from .in_namespace import IN_NAMESPACE

LOOPBACK = {4: "127.0.0.1", 6: "::1"}
FORMS = {
    "0.0.0.0": {4, 6},
    "[::]": {4, 6},
    "": {4, 6},
    "127.0.0.1": {4},
    "[::1]": {6},
    "localhost": {4, 6},
    "[::ffff:127.0.0.1]": {4},
}
"""The host of a listener, and the address families on which it serves."""
ADVERTISED = {"V4": "127.0.0.1", "V6": "[::1]", "NAME": "localhost"}
FAMILIES = {socket.AF_INET: 4, socket.AF_INET6: 6}
REACHED_BY = {"V4": {4}, "V6": {6}, "NAME": {FAMILIES[one[0]] for one in socket.getaddrinfo("localhost", 0)}}
"""The families of each advertised name; localhost has those of this machine's hosts file."""
PROTOCOLS = ("PLAINTEXT", "SSL")
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A client's context, and the key store of a broker that is named by each address and by name."""
    directory = tmp_path_factory.mktemp("tls")
    authority = CertificateAuthority()
    authority.write_pem(directory / "trust.pem")
    authority.issue("broker", ["localhost", *LOOPBACK.values()]).write_pem(directory / "server.pem")
    return ssl.create_default_context(cafile=str(directory / "trust.pem")), directory / "server.pem"


@pytest.fixture(scope="module", params=FORMS, ids=lambda form: form or "empty")
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, trust: tuple[ssl.SSLContext, Path]
) -> Iterator[tuple[set[int], dict[str, int]]]:
    """A broker that listens on one form, with a listener for each protocol and advertised name: the families that it
    serves, and the ports of the listeners."""
    names = [f"{protocol}_{host}" for protocol, host in product(PROTOCOLS, ADVERTISED)]
    keys = {
        "listeners": ",".join(f"{name}://{request.param}:0" for name in names),
        "advertised.listeners": ",".join(f"{name}://{ADVERTISED[name.partition('_')[2]]}:0" for name in names),
        "listener.security.protocol.map": ",".join(f"{name}:{name.partition('_')[0]}" for name in names),
        "inter.broker.listener.name": names[0],
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(trust[1]),
    }
    with OurBroker(tmp_path_factory.mktemp("broker"), keys) as broker:
        yield FORMS[request.param], broker.ports()


def connect(host: str, port: int, tls: ssl.SSLContext | None) -> socket.socket:
    """A connection, whose certificate must be valid for the host. Raises OSError."""
    plain = socket.create_connection((host, port), timeout=PATIENCE_S)
    return plain if tls is None else tls.wrap_socket(plain, server_hostname=host)


def advertised_to(opened: socket.socket) -> tuple[str, int]:
    """The address that the broker names to a client of this connection."""
    opened.sendall(encode_request(MetadataRequest([]), 9, 7, "matrix"))
    with opened.makefile("rb") as stream:
        frame = stream.read(struct.unpack(">i", stream.read(4))[0])
    response = decode(MetadataResponse, 9, frame, 4 + response_header_version(MetadataRequest.API_KEY, 9))[0]
    return response.brokers[0].host, response.brokers[0].port


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ADVERTISED)
@pytest.mark.parametrize("family", LOOPBACK)
def test_every_combination(
    served: tuple[set[int], dict[str, int]],
    trust: tuple[ssl.SSLContext, Path],
    family: int,
    name: str,
    protocol: str,
) -> None:
    """A client connects by a family, gets the advertised name, and connects to that."""
    families, ports = served
    port = ports[f"{protocol}_{name}"]
    tls = trust[0] if protocol == "SSL" else None
    if family not in families:
        with pytest.raises(ConnectionRefusedError):
            connect(LOOPBACK[family], port, tls)
        return
    with connect(LOOPBACK[family], port, tls) as opened:
        told = advertised_to(opened)
    assert told == (ADVERTISED[name].strip("[]"), port)
    if REACHED_BY[name] & families:
        with connect(*told, tls) as opened:
            assert advertised_to(opened) == told
    else:
        with pytest.raises(ConnectionRefusedError):
            connect(*told, tls)


@pytest.mark.parametrize("form", ["0.0.0.0", "[::]"])
@pytest.mark.parametrize("family", LOOPBACK)
def test_librdkafka_produces_over_each_family(tmp_path: Path, form: str, family: int) -> None:
    address = ADVERTISED[f"V{family}"]
    keys = {"listeners": f"PLAINTEXT://{form}:0", "advertised.listeners": f"PLAINTEXT://{address}:0"}
    with OurBroker(tmp_path, keys) as broker:
        settings = {"bootstrap.servers": f"{address}:{broker.port}", "allow.auto.create.topics": True}
        producer = Producer(settings)
        failures: list[object] = []
        producer.produce("t", b"v", on_delivery=lambda error, _: failures.append(error))
        assert producer.flush(PATIENCE_S) == 0
        assert failures == [None]


@pytest.mark.parametrize("form", ["0.0.0.0", "[::]"])
def test_metrics_answer_over_each_family(tmp_path: Path, form: str) -> None:
    """The probes of a cluster that has only IPv6 ask there."""
    port, metrics = free_ports(2)
    keys = {"listeners": f"PLAINTEXT://127.0.0.1:{port}", "odradek.metrics.listener": f"{form}:{metrics}"}
    with OurBroker(tmp_path, keys):
        for address in ("127.0.0.1", "[::1]"):
            with urlopen(f"http://{address}:{metrics}/ready", timeout=PATIENCE_S) as answer:
                assert answer.status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_clients_of_a_wildcard_have_their_own_addresses(host: str) -> None:
    """Never an IPv4-mapped one: ACLs, quotas and limits of connections compare addresses."""
    bound = bind(Listener("PLAINTEXT", "PLAINTEXT", host, 0))
    try:
        seen = set()
        for address in LOOPBACK.values():
            with socket.create_connection((address, bound.port)):
                for one in bound.sockets:
                    one.settimeout(PATIENCE_S)
                [one] = [one for one in bound.sockets if (":" in one.getsockname()[0]) == (":" in address)]
                accepted, peer = one.accept()
                accepted.close()
                seen.add(peer[0])
        assert seen == set(LOOPBACK.values())
    finally:
        bound.close()


def test_two_listeners_may_share_a_port_if_each_has_one_family() -> None:
    [port] = free_ports(1)
    both = [Listener("A", "PLAINTEXT", "0.0.0.0", port), Listener("B", "PLAINTEXT", "::", port)]
    first, second = (bind(one, both) for one in both)
    assert [one.getsockname()[0] for one in first.sockets] == ["0.0.0.0"]
    assert [one.getsockname()[0] for one in second.sockets] == ["::"]
    first.close()
    second.close()


def in_namespace(*arguments: object) -> str:
    """The output of a script in a network namespace of its own."""
    command = ["unshare", "-rn", sys.executable, str(IN_NAMESPACE), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", ""])
def test_without_ipv6_a_wildcard_is_that_of_ipv4(host: str) -> None:
    assert in_namespace("bound", f"PLAINTEXT://{host}:0") == "['0.0.0.0']\n"


def test_link_local_address_with_a_scope_serves_and_is_advertised(tmp_path: Path) -> None:
    """``[fe80::1%lo]``: the broker, its clients, and the address in its answers."""
    assert in_namespace("link-local", tmp_path) == "brokers 1\nt\nvalue\n"
