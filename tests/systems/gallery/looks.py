"""What each tool shows of the shop, as lines that do not depend on the machine, ports and times."""

import json
import re
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.error import URLError

from support.brokers.free_ports import free_ports
from systems.gallery.built import Tool, built, jar_of_distribution, output
from systems.process import SystemProcess

NOT_OF_KAFKA = re.compile(r"build_info|_seconds|duration|_up\b|exporter_|kafka_(requests|sent|received)_")
"""Series of the tools themselves."""


def page(process: SystemProcess, url: str, wanted: str) -> str:
    """A page of a tool, as soon as it has a text."""

    def look() -> str:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                text = str(answer.read().decode())
        except (URLError, ConnectionError):
            return ""
        return text if wanted in text else ""

    return process.wait_for(f"{wanted} at {url}", look)


def series(text: str, prefix: str) -> list[str]:
    """The series of Kafka on a page of metrics, sorted."""
    lines = (line for line in text.splitlines() if line.startswith(prefix))
    return sorted(line for line in lines if not NOT_OF_KAFKA.search(line.partition("{")[0].partition(" ")[0]))


def same(lines: Iterable[str], address: str) -> list[str]:
    """Lines without what differs from run to run: the port, ids, times, widths of columns."""
    host, _, port = address.partition(":")
    found = []
    for line in lines:
        line = line.replace(address, "HOST:PORT").replace(host, "HOST").replace(port, "PORT")
        line = re.sub(r"\b(?=\w*[A-Z])(?=\w*[a-z])[A-Za-z0-9_-]{22}\b", "ID", line)
        line = re.sub(r"\b[0-9a-f]{32}\b", "ID", line)
        line = re.sub(r"\d{4}-\d\d-\d\d[ T][0-9:.]+Z?", "TIME", line)
        line = re.sub(r"[─━═-]{3,}", "---", line)
        found.append(re.sub(r"[ \t]+", " ", line).strip())
    return [line for line in found if line]


def kafka_exporter(address: str, directory: Path) -> list[str]:
    """Its page of metrics: offsets, lag, brokers, replicas."""
    tool = built(Tool("kafka_exporter", "danielqsj/kafka_exporter", "v1.9.0"))
    (port,) = free_ports(1)
    command: list[str | Path] = [tool, f"--kafka.server={address}", f"--web.listen-address=127.0.0.1:{port}"]
    with SystemProcess([*command, "--kafka.version=4.1.0"], directory, "kafka_exporter") as process:
        return same(
            series(page(process, f"http://127.0.0.1:{port}/metrics", "kafka_consumergroup_lag_sum{"), "kafka_"), address
        )


def kminion(address: str, directory: Path) -> list[str]:
    """Its page of metrics: topics, configs, offsets, lag, log directories."""
    tool = built(Tool("kminion", "redpanda-data/kminion", "v2.3.5"))
    (port,) = free_ports(1)
    settings = {"KAFKA_BROKERS": address, "EXPORTER_PORT": str(port), "EXPORTER_HOST": "127.0.0.1"}
    with SystemProcess([tool], directory, "kminion", settings) as process:
        text = page(process, f"http://127.0.0.1:{port}/metrics", "kminion_kafka_consumer_group_topic_lag{")
        return same(series(text, "kminion_kafka"), address)


BURROW = """
[general]
pidfile="burrow.pid"
[logging]
filename="burrow-own.log"
level="info"
[client-profile.shop]
client-id="burrow"
kafka-version="2.8.0"
[cluster.local]
class-name="kafka"
servers=["{address}"]
client-profile="shop"
topic-refresh=1
offset-refresh=1
[consumer.local]
class-name="kafka"
cluster="local"
servers=["{address}"]
client-profile="shop"
start-latest=false
backfill-earliest=true
[httpserver.default]
address="127.0.0.1:{port}"
[storage.default]
class-name="inmemory"
min-distance=0
"""


def burrow(address: str, directory: Path) -> list[str]:
    """What it says of the group: its topics, and the lag that it computes from ``__consumer_offsets``.

    Its status of a partition depends on when it has looked.
    """
    tool = built(Tool("Burrow", "linkedin/Burrow", "v1.9.5"))
    (port,) = free_ports(1)
    (directory / "burrow.toml").write_text(BURROW.format(address=address, port=port))
    at = f"http://127.0.0.1:{port}/v3/kafka/local"
    with SystemProcess([tool, "--config-dir", directory], directory, "burrow") as process:
        status = json.loads(page(process, f"{at}/consumer/readers/lag", '"partitions":[{'))["status"]
        topics = json.loads(page(process, f"{at}/topic", "prices"))["topics"]
    partitions = [
        f"{one['topic']}-{one['partition']} offset {one['end']['offset']} lag {one['current_lag']}"
        for one in sorted(status["partitions"], key=lambda one: one["partition"])
    ]
    return [f"topics {sorted(topics)}", f"group {status['group']}", *partitions]


KCL: list[list[str]] = [
    ["misc", "probe-version"],
    ["misc", "api-versions"],
    ["cluster", "describe-cluster"],
    ["cluster", "features", "describe"],
    ["topic", "list"],
    ["topic", "describe", "orders"],
    ["misc", "list-offsets", "orders", "prices"],
    ["misc", "offset-for-leader-epoch", "orders"],
    ["config", "describe", "--type", "topic", "orders"],
    ["group", "list"],
    ["group", "describe", "readers"],
    ["group", "seek", "readers", "--to", "start", "--topics", "orders", "--yes"],
    ["group", "describe", "readers"],
    ["txn", "list"],
    ["txn", "describe", "till"],
    ["consume", "orders", "-p", "1", "-n", "10", "-f", "%t %p %o %k %v\\n"],
    ["consume", "prices", "-n", "7", "--print-control-records", "-f", "%t %p %o %k\\n"],
    ["topic", "create", "bills", "-p", "2"],
    ["topic", "add-partitions", "-t", "bills", "1"],
    ["topic", "describe", "bills"],
    ["topic", "trim-prefix", "orders", "--offset", "2", "--yes"],
    ["topic", "delete", "bills"],
]


def kcl(address: str, directory: Path) -> list[str]:
    """Its commands over topics, groups, configs, transactions and records."""
    tool = built(Tool("kcl", "twmb/kcl", "v0.18.0"))
    return [
        line
        for arguments in KCL
        for line in _said(tool, arguments, ["--no-config-file", "-X", f"seed_brokers={address}"], address, directory)
    ]


TOPICCTL: list[list[str]] = [
    ["get", "brokers"],
    ["get", "topics"],
    ["get", "partitions", "orders"],
    ["get", "config", "orders"],
    ["get", "offsets", "orders"],
    ["get", "groups"],
    ["get", "lags", "orders", "readers"],
]
TOPIC = """
meta:
  name: bills
  cluster: shop
  environment: test
  region: here
spec:
  partitions: 3
  replicationFactor: 1
  retentionMinutes: 100
  placement:
    strategy: any
  settings:
    cleanup.policy: delete
    max.message.bytes: 5542880
"""
CLUSTER = """
meta:
  name: shop
  environment: test
  region: here
spec:
  bootstrapAddrs: ["{address}"]
"""


def topicctl(address: str, directory: Path) -> list[str]:
    """Its views, and a topic that it creates from a file and changes."""
    tool = built(Tool("topicctl", "segmentio/topicctl", "v2.0.2", "./cmd/topicctl"))
    (directory / "cluster.yaml").write_text(CLUSTER.format(address=address))
    topic = directory / "bills.yaml"
    at = ["--broker-addr", address, "--no-spinner"]
    lines: list[str] = []
    for arguments in TOPICCTL:
        lines += _said(tool, arguments, at, address, directory)
    config = ["--cluster-config", str(directory / "cluster.yaml"), "--skip-confirm", "--no-spinner"]
    for text in (TOPIC, TOPIC, TOPIC.replace("partitions: 3", "partitions: 4").replace("Minutes: 100", "Minutes: 200")):
        topic.write_text(text)
        lines += _said(tool, ["apply", topic.name], config, address, directory)
    return [*lines, *_said(tool, ["get", "config", "bills"], at, address, directory)]


def _said(tool: Path, arguments: list[str], at: list[str], address: str, directory: Path) -> list[str]:
    said = (
        re.sub(r"\d+ms\b", "some ms", line.replace(str(directory), "DIR"))
        for line in output([tool, *arguments, *at], directory)
    )
    lines = same(said, address)
    # Kafka gives the features in the order of a hash map, which differs from run to run.
    return [f"> {' '.join(arguments)}", *(sorted(lines) if "features" in arguments else lines)]


SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


def apicurio(address: str, directory: Path) -> list[str]:
    """A registry of schemas that keeps them in topics (``kafkasql``). A second process reads what the first wrote."""
    program = jar_of_distribution("io.apicurio:apicurio-registry-app:3.0.9:tar.gz:all", "*-runner.jar")
    lines: list[str] = []
    for number in range(2):
        (port,) = free_ports(1)
        at = f"http://127.0.0.1:{port}"
        settings = {"APICURIO_STORAGE_KIND": "kafkasql", "APICURIO_KAFKASQL_BOOTSTRAP_SERVERS": address}
        settings |= {"QUARKUS_HTTP_PORT": str(port), "QUARKUS_HTTP_HOST": "127.0.0.1"}
        with SystemProcess(["java", "-Xmx400m", "-jar", program], directory, f"apicurio-{number}", settings) as process:
            page(process, f"{at}/health/ready", '"UP"')
            artifacts = f"{at}/apis/registry/v3/groups/default/artifacts"
            if not number:
                content = {"content": json.dumps(SCHEMA), "contentType": "application/json"}
                new = {"artifactId": "order", "artifactType": "AVRO", "firstVersion": {"content": content}}
                lines.append(f"created {post(artifacts, new)['version']['state']}")
            lines.append(page(process, f"{artifacts}/order/versions/1/content", "Order"))
    return same(lines, address)


def post(url: str, document: object) -> Any:
    """The JSON answer to a document."""
    request = urllib.request.Request(url, json.dumps(document).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


LOOKS: dict[str, Callable[[str, Path], list[str]]] = {
    "kafka_exporter": kafka_exporter,
    "kminion": kminion,
    "Burrow": burrow,
    "kcl": kcl,
    "topicctl": topicctl,
    "Apicurio Registry": apicurio,
}
