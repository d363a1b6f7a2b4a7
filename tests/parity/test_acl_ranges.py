"""Ranges of addresses as hosts of ACLs: what is accepted and what is found, at Odradek and at Kafka 4.4.0."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.storage_tool.format import format_directories
from odradek.protocol.messages.security import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from parity.side import Side
from parity.world import comparable
from support.brokers.our_broker import OurBroker
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import CLUSTER_ID, RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

KEYS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "node.id": "1",
}
TOPIC, LITERAL, READ, ALLOW, ANY = 2, 3, 3, 3, 1
HOSTS = [
    *("*", "", "10.0.0.1", "host.example", "10.0.0.0/8", "10.1.2.3/8", "0.0.0.0/0", "10.0.0.1/32", "10.0.0.1/33"),
    *("10.0.0.0/", "/8", "a/b", "10.0.0/8", "256.0.0.0/8", "10.0.0.0/-1", "10.0.0.0/8/8", "2001:db8::/32", "::/0"),
    *("::1/128", "::1/129", "::ffff:10.0.0.0/104", "2001:db8::/", "1:2:3/8", "010.0.0.0/08", "10.0.0.0/255.0.0.0"),
]


@pytest.fixture(scope="module", params=[30, 33], ids=["4.3-IV0", "4.4-IV2"])
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Odradek and Kafka at a level of metadata.version, each with an authorizer."""
    ours = OurBroker(tmp_path_factory.mktemp("ours"), KEYS)
    formatted(ours.directory, ours.keys(), request.param)
    features = {"share.version": 0, "streams.version": 0, "metadata.version": request.param}
    directory = tmp_path_factory.mktemp("kafka")
    with Wire() as wire, ours, RealKafka(directory, KEYS, version=TABLE_VERSION, features=features) as kafka:
        yield Side(wire, ours.port, True), Side(wire, kafka.port, False)


def formatted(directory: Path, keys: dict[str, str], level: int) -> None:
    """Formats a directory of ours at a level of metadata.version."""
    path = directory / "format.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    options = ["--standalone", "--feature", f"metadata.version={level}"]
    assert format_directories(["-c", str(path), "-t", CLUSTER_ID, *options]) == 0


def test_each_host(sides: tuple[Side, Side]) -> None:
    """Also which ACLs a filter with that text finds: it compares texts, so a range matches only itself."""

    def scene(side: Side) -> Any:
        acl = CreateAclsRequest.AclCreation
        created = side.ask(
            CreateAclsRequest([acl(TOPIC, "t", LITERAL, "User:a", host, READ, ALLOW) for host in HOSTS]), 3
        )
        found = [
            side.ask(DescribeAclsRequest(TOPIC, None, ANY, None, host, ANY, ANY), 3)["resources"] for host in HOSTS
        ]
        deleted = DeleteAclsRequest.DeleteAclsFilter(TOPIC, None, ANY, None, "10.1.2.3/8", ANY, ANY)
        return comparable([created, found, side.ask(DeleteAclsRequest([deleted]), 3)])

    ours, kafka = map(scene, sides)
    assert ours == kafka
