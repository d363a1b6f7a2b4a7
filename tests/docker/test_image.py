"""The image is run with an engine: users, volume, health, signals, restart, hardening, Apache's variables."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .apache_image import SINGLE_NODE
from .base import TAG
from .container import Container, Image

pytestmark = pytest.mark.ci

DATA = "/var/lib/kafka/data"
MOST_ADDED_BYTES = 120_000_000
"""The most bytes, uncompressed, that the image adds to its base (docs/docker-and-kubernetes.md)."""
WRITABLE = (
    "/etc/kafka/docker/run",
    "/etc/kafka/kafka.properties",
    *(f"/etc/confluent/docker/{name}" for name in ("run", "launch", "configure", "ensure", "bash-config")),
    "/opt/kafka",
    "/opt/kafka/bin",
)
"""What scripts of Testcontainers edit, and where they put files, as uid 1000."""
HARDENED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")


@contextmanager
def volume(image: Image) -> Iterator[str]:
    name = f"odradek-test-{uuid.uuid4().hex}"
    image.engine.run("volume", "create", name)
    try:
        yield name
    finally:
        image.engine.run("volume", "rm", "--force", name)


def test_hardened_it_serves_stops_on_sigterm_and_has_its_records_when_it_starts_again(image: Image) -> None:
    with volume(image) as data:
        options = ("--volume", f"{data}:{DATA}", *HARDENED)
        with Container(image, *options) as container:
            container.start()
            assert container.execute("id", "-u") == "1000"
            container.produce("kept", "first")
            assert container.stop() == 0, container.log()
            container.start()
            container.produce("kept", "second")
            assert container.consume("kept", 2) == ["first", "second"]
            assert container.stop() == 0, container.log()
            assert container.log().count("stopped cleanly") == 2
        with Container(image, *options) as another:  # the volume outlives the container
            another.start()
            assert another.consume("kept", 2) == ["first", "second"]


def test_it_adds_little_to_its_base(image: Image) -> None:
    sizes = [int(image.engine.run("image", "inspect", "--format", "{{.Size}}", tag)) for tag in (image.tag, TAG)]
    assert 0 < sizes[0] - sizes[1] < MOST_ADDED_BYTES


def test_the_broker_is_process_1(image: Image) -> None:
    with Container(image) as container:
        container.start()
        words = container.execute("cat", "/proc/1/cmdline").split("\0")
        assert "serve" in words
        assert not any("entrypoint" in word for word in words), words


def test_any_user_of_group_0_may_run_it(image: Image) -> None:
    with volume(image) as data:
        options = ("--user", "31337:0", "--volume", f"{data}:{DATA}", *HARDENED)
        with Container(image, *options) as container:
            container.start()
            assert container.execute("id", "-u") == "31337"
            container.produce("mine", "record")
            assert container.consume("mine", 1) == ["record"]
            assert container.stop() == 0, container.log()


def test_a_volume_of_another_user_is_refused_with_the_command_that_mends_it(image: Image) -> None:
    with volume(image) as data, Container(image, "--user", "4321:4321", "--volume", f"{data}:{DATA}") as container:
        container.start_unwatched()
        assert container.wait() == 1, container.log()
        assert f"chown -R 4321 {DATA}" in container.log()
        assert "uid 4321" in container.log()


@pytest.mark.nightly
def test_a_stop_during_the_start_is_heard(image: Image) -> None:
    with Container(image) as container:
        container.start_unwatched()
        # The entry point, which has "serve" as its argument, blocks the signals and becomes the broker.
        while b"odradek\0serve" not in container.execute("cat", "/proc/1/cmdline").encode():
            pass
        assert container.stop() == 0, container.log()


def test_the_environment_of_apaches_compose_example_starts_it(image: Image) -> None:
    with Container(image, "--hostname", "broker", environment=SINGLE_NODE) as container:
        container.start()
        container.produce("apache", "record")
        assert container.consume("apache", 1) == ["record"]
        health = json.loads(container.execute("odradek", "health", "--bootstrap-server", "localhost:9092", "--json"))
        assert health["clusterId"] == SINGLE_NODE["CLUSTER_ID"]
        assert "cluster.id=4L6g3nShT-eMCtK--X86sw" in container.execute(
            "cat", "/tmp/kraft-combined-logs/meta.properties"
        )
        assert container.stop() == 0, container.log()


def test_health_follows_the_listener_of_the_environment(image: Image) -> None:
    with Container(image, environment={"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:7777"}) as container:
        container.start()
        assert container.execute("odradek", "health", "--bootstrap-server", "localhost:7777").startswith("healthy")


@pytest.mark.parametrize("has_ipv6", [True, False])
@pytest.mark.parametrize("host", ["", "0.0.0.0", "[::]"])
def test_a_wildcard_listener_serves_both_families(image: Image, host: str, has_ipv6: bool) -> None:
    """As Java's does, and IPv4 alone where the container's kernel has IPv6 switched off."""
    listeners = {
        "KAFKA_LISTENERS": f"PLAINTEXT://{host}:9092",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092",
    }
    families = [f"net.ipv6.conf.{devices}.disable_ipv6={int(not has_ipv6)}" for devices in ("all", "lo")]
    options = [word for family in families for word in ("--sysctl", family)]
    with Container(image, *options, environment=listeners) as container:
        container.start()
        for address in ("127.0.0.1", "[::1]") if has_ipv6 else ("127.0.0.1",):
            health = container.execute("odradek", "health", "--bootstrap-server", f"{address}:9092")
            assert health.startswith("healthy"), container.log()


def test_beside_services_of_kubernetes_named_kafka_it_becomes_healthy(image: Image) -> None:
    variables = {"KAFKA_UI_PORT": "tcp://10.0.0.1:80", "KAFKA_UI_SERVICE_HOST": "10.0.0.1", "KAFKA_PORT": "tcp://a:1"}
    with Container(image, environment=variables) as container:
        container.start()
        assert container.state()["Health"]["Log"][-1]["ExitCode"] == 0, container.state()["Health"]


def test_an_unknown_variable_stops_the_start_with_the_key_meant(image: Image) -> None:
    with Container(image, environment={"KAFKA_LOG_DIR_S": "/data"}) as container:
        container.start_unwatched()
        assert container.wait() == 1
        assert "log.dirs" in container.log()
        assert "environment variable KAFKA_LOG_DIR_S" in container.log()


def test_the_image_runs_the_other_commands(image: Image) -> None:
    assert image.engine.run("run", "--rm", "--network", "none", image.tag, "--version").startswith("odradek ")


def test_kafkas_tools_and_scripts_are_where_people_call_them(image: Image) -> None:
    with Container(image) as container:
        container.start()
        for tool in ("kafka-topics", "/opt/kafka/bin/kafka-topics.sh", "/opt/bitnami/kafka/bin/kafka-topics.sh"):
            container.execute(tool, "--bootstrap-server", "localhost:9092", "--list")
        container.execute("kafka-broker-api-versions", "--bootstrap-server", "localhost:9092")
        container.execute("nc", "-z", "localhost", "9092")
        assert len(container.execute("kafka-storage", "random-uuid")) == 22
        for path in WRITABLE:
            container.execute("test", "-w", path)


def test_a_script_of_testcontainers_starts_it(image: Image) -> None:
    """As in the Java module: a shell waits for a script, which sets the address and runs the image's own script."""
    script = "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092; /etc/kafka/docker/run"
    with Container(image, arguments=("sh", "-c", script)) as container:
        container.start()
        assert "Transitioning from RECOVERY to RUNNING" in container.log()
        assert container.stop() in (0, 143), container.log()  # the exit code of the shell
        assert "stopped cleanly" in container.log()


def test_a_script_may_format_the_data_directory_with_users(image: Image) -> None:
    """As in modules of Testcontainers for SCRAM: a line is added to ``configure``, which ``run`` calls."""
    users = "--add-scram 'SCRAM-SHA-256=[name=alice,password=alice-secret]'"
    line = f'kafka-storage format --ignore-formatted -t "$CLUSTER_ID" {users} -c /etc/kafka/kafka.properties'
    script = f"cat >> /etc/confluent/docker/configure << 'END'\n{line}\nEND\nexec /etc/confluent/docker/run"
    with Container(image, environment=SINGLE_NODE, arguments=("bash", "-c", script)) as container:
        container.start()
        described = container.execute(
            *("kafka-configs", "--bootstrap-server", "localhost:9092", "--describe", "--entity-type", "users")
        )
        assert "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=4096" in described
        assert f"cluster.id={SINGLE_NODE['CLUSTER_ID']}" in container.execute(
            "cat", "/tmp/kraft-combined-logs/meta.properties"
        )
        assert container.stop() in (0, 143), container.log()


def test_a_broker_for_tests_in_any_language(image: Image) -> None:
    """docs/testing-over-http.md: the broker, its port for tests, and SIGTERM."""
    asked = "import sys, urllib.request as u; print(u.urlopen(u.Request(sys.argv[2], sys.argv[3].encode() or None, "
    ask = ("python", "-c", asked + "method=sys.argv[1])).read().decode())")
    port = "http://localhost:9644"
    with Container(image, arguments=("test-broker", "--host", "0.0.0.0", "--create-topic", "orders")) as container:
        container.start()
        fault = '{"fault": "fail", "apis": "Produce", "error": "NOT_LEADER_OR_FOLLOWER"}'
        container.execute(*ask, "POST", f"{port}/faults", fault)
        container.produce("orders", "one")
        assert json.loads(container.execute(*ask, "GET", f"{port}/faults/1", ""))["fired"] == 1
        (record,) = json.loads(container.execute(*ask, "GET", f"{port}/topics/orders/records", ""))
        assert record["value"] == "one"
        assert (
            json.loads(container.execute(*ask, "POST", f"{port}/reset", "{}"))["bootstrap_servers"] == "localhost:9092"
        )
        assert json.loads(container.execute(*ask, "GET", f"{port}/topics", "")) == []
        assert container.stop() == 0, container.log()


def test_zookeeper_is_a_port_and_a_name(image: Image) -> None:
    """As in modules of Testcontainers for Confluent's image: ZooKeeper starts beside the broker, and takes users."""
    script = "echo clientPort=2182 > zookeeper.properties; zookeeper-server-start zookeeper.properties &\n"
    alter = ("kafka-configs", "--zookeeper", "localhost:2182", "--alter", "--entity-type", "users")
    with Container(image, arguments=("bash", "-c", script + "/etc/confluent/docker/run")) as container:
        container.start_unwatched()
        container.execute(*alter, "--entity-name", "alice", "--add-config", "SCRAM-SHA-512=[password=secret]")
        described = container.execute("kafka-configs", "--zookeeper", "x", "--describe", "--entity-type", "users")
        assert "'alice' are SCRAM-SHA-512=iterations=4096" in described
        container.execute("nc", "-z", "localhost", "2182")


def test_a_variable_with_a_hyphen_reaches_the_broker_through_shells(image: Image) -> None:
    environment = {
        "KAFKA_LISTENERS": "PLAINTEXT://:9092,SECURE://:9093",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092,SECURE://localhost:9093",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT",
        "KAFKA_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-512",
        "KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-512_SASL_JAAS_CONFIG": "org.apache.kafka.common.security.scram."
        "ScramLoginModule required;",
    }
    arguments = ("sh", "-c", "bash -c 'sh /etc/confluent/docker/run'")
    with Container(image, environment=environment, arguments=arguments) as container:
        container.start()
        assert "SECURE://localhost:9093" in container.log()


def test_its_address_may_be_set_while_it_runs(image: Image) -> None:
    """As in Testcontainers' module for Rust, which then waits for the line."""
    change = ("--alter", "--broker", "1", "--add-config", "advertised.listeners=[PLAINTEXT://127.0.0.1:9092]")
    with Container(image) as container:
        container.start()
        container.execute("kafka-configs", "--bootstrap-server", "0.0.0.0:9092", *change)
        assert "Checking need to trigger auto leader balancing" in container.log()
        listed = container.execute("kafka-cluster", "list-endpoints", "--bootstrap-server", "localhost:9092")
        assert "127.0.0.1" in listed


def test_a_container_that_runs_another_command_is_healthy(image: Image) -> None:
    """As in tests of Testcontainers' module for Node, where it holds Kafka's tools."""
    with Container(image, arguments=("bash", "-c", "sleep infinity")) as container:
        container.start()


def test_a_container_whose_script_starts_a_broker_later_is_healthy_when_that_serves(image: Image) -> None:
    script = "until [ -e /tmp/go ]; do sleep 0.1; done; /etc/confluent/docker/run"
    with Container(image, arguments=("sh", "-c", script)) as container:
        container.start_unwatched()
        container.until("unhealthy")
        container.execute("touch", "/tmp/go")
        container.until("healthy")
        assert container.execute("odradek", "health", "--bootstrap-server", "localhost:9092").startswith("healthy")
