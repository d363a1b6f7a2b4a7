"""The image's entry point as a function from arguments and environment to the command to run."""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.security import unserved_security
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.server.serve_options import parser

from .apache_image import SINGLE_NODE
from .entry_points import DOCKER, entry_point

entrypoint = entry_point("entrypoint.py")
OWN = entrypoint.OWN_CONFIGURATION
MOUNTED = entrypoint.MOUNTED_CONFIGURATION
OWN_TEXT = (DOCKER / "server.properties").read_text()
DATA = "/var/lib/kafka/data"


def command(arguments: str, environ: Mapping[str, str] | None = None, has_file: bool = False) -> str:
    return shlex.join(entrypoint.command(shlex.split(arguments), environ or {}, has_file))


def given(environ: Mapping[str, str], has_file: bool = False) -> dict[str, tuple[str, str]]:
    """Key -> its value and the variable that set it."""
    run = entrypoint.command(["serve"], environ, has_file)
    places = [(run[i + 2], run[i + 1]) for i, part in enumerate(run) if part == "--variable"]
    places += [(run[i + 1], "") for i, part in enumerate(run) if part == "--override"]
    return {entry.partition("=")[0]: (entry.partition("=")[2], variable) for entry, variable in places}


def overrides(environ: Mapping[str, str], has_file: bool = False) -> dict[str, str]:
    return {key: value for key, (value, _) in given(environ, has_file).items()}


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_LISTENER_NAME_INTERNAL_SSL_KEYSTORE_LOCATION", "listener.name.internal.ssl.keystore.location"),
        ("KAFKA_SOME__KEY", "some_key"),
        ("KAFKA_LISTENER_NAME_HOST___NAME_SASL_ENABLED_MECHANISMS", "listener.name.host-name.sasl.enabled.mechanisms"),
    ],
)
def test_variables_name_keys_as_apaches_image_has_it(variable: str, key: str) -> None:
    assert entrypoint.key_of(variable) == key


def test_without_variables_the_published_port_is_advertised_as_localhost() -> None:
    expected = f"odradek serve --announce-as-kafka --override advertised.listeners=PLAINTEXT://localhost:9092 {OWN}"
    assert command("") == command("serve") == expected


def test_the_configuration_as_a_file_is_what_the_broker_gets() -> None:
    """Scripts of Testcontainers use this file to format the data directory."""
    jaas = 'Login required username="a\\\\b"\n\tpassword="c";'
    environ = {"KAFKA_LOG_DIRS": "/data", "KAFKA_SASL_JAAS_CONFIG": jaas, "KAFKA_LISTENERS": " PLAINTEXT://:1"}
    found = ServerConfig.load(entrypoint.properties(environ, OWN_TEXT, False), (), {})
    set_by = {key: value for key, (value, _) in entrypoint.settings(environ, False).items()}
    same = ServerConfig.load(OWN_TEXT, [f"{key}={value}" for key, value in set_by.items()], {})
    assert {key: found[key] for key in set_by} == {key: same[key] for key in set_by}
    assert (found["log.dirs"], found["node.id"]) == (("/data",), 1)
    assert ServerConfig.load(entrypoint.properties({}, OWN_TEXT, False), (), {})["log.dirs"] == (DATA,)


@pytest.mark.parametrize("name", ["kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"])
def test_authorizers_of_zookeepers_time_are_the_standard_one(name: str) -> None:
    environ = {"KAFKA_AUTHORIZER_CLASS_NAME": name}
    standard = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    assert overrides(environ)["authorizer.class.name"] == standard
    (line,) = entrypoint.passed_over(environ)
    assert line == f"KAFKA_AUTHORIZER_CLASS_NAME: using {standard} instead of {name}, which needs ZooKeeper"
    assert entrypoint.passed_over({"KAFKA_AUTHORIZER_CLASS_NAME": standard}) == []


def test_other_commands_run_as_they_are() -> None:
    assert command("topics --list", {"KAFKA_NODE_ID": "3"}) == "odradek topics --list"


def test_the_environment_of_apaches_single_node() -> None:
    given = overrides(SINGLE_NODE)
    assert given["listeners"] == "CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092"
    assert given["controller.quorum.voters"] == "1@broker:29093"
    assert given["process.roles"] == "broker,controller"
    assert len(given) == len(SINGLE_NODE) - 1, "every variable is one key, but for CLUSTER_ID"
    assert "--cluster-id 4L6g3nShT-eMCtK--X86sw" in command("serve", SINGLE_NODE)


def test_advertised_listeners_alone_say_what_to_listen_on() -> None:
    given = overrides({"KAFKA_ADVERTISED_LISTENERS": "A://localhost:19092,B://[::1]:29092"})
    assert given["listeners"] == "A://0.0.0.0:19092,B://0.0.0.0:29092"


def test_listeners_alone_are_advertised_as_the_broker_does_it() -> None:
    assert overrides({"KAFKA_LISTENERS": "X://:1"}) == {"listeners": "X://:1"}


def test_our_own_variables_are_left_to_the_broker() -> None:
    assert overrides({"ODRADEK_LISTENERS": "X://:1", "ODRADEK_LOG_DIRS": "/d"}) == {}


def test_variables_of_the_jvm_and_of_kubernetes_are_no_keys() -> None:
    of_a_service = {"KAFKA_SERVICE_HOST": "10.0.0.1", "KAFKA_SERVICE_PORT_CLIENTS": "1", "KAFKA_PORT": "tcp://10.0.0.1"}
    of_its_port = {"KAFKA_PORT_9092_TCP": "tcp://10.0.0.1:9092", "KAFKA_PORT_9092_TCP_ADDR": "10.0.0.1"}
    environ = {"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_JMX_PORT": "9999", **of_a_service, **of_its_port}
    assert overrides(environ).keys() == {"advertised.listeners"}


KUBERNETES = {
    f"KAFKA_{service}{name}": value
    for service in ("", "UI_", "MY_2_")
    for name, value in {
        "SERVICE_HOST": "10.0.0.1",
        "SERVICE_PORT": "9092",
        "SERVICE_PORT_CLIENTS": "9092",
        "PORT": "tcp://10.0.0.1:9092",
        "PORT_9092_TCP": "tcp://10.0.0.1:9092",
        "PORT_9092_TCP_PROTO": "tcp",
        "PORT_9092_TCP_PORT": "9092",
        "PORT_9092_TCP_ADDR": "10.0.0.1",
        "PORT_53_UDP": "udp://10.0.0.1:53",
        "PORT_53_UDP_ADDR": "10.0.0.1",
    }.items()
}


def test_no_service_of_kubernetes_stops_the_start() -> None:
    assert overrides(KUBERNETES).keys() == {"advertised.listeners"}
    ours = {name.replace("KAFKA_", "ODRADEK_", 1): value for name, value in KUBERNETES.items()}
    assert not ServerConfig.load(None, [], ours).originals


def test_mistakes_are_still_reported_and_name_the_variable() -> None:
    environ = {"KAFKA_LOG_DIR_S": "/data", "KAFKA_PORT": "9092", "KAFKA_NUM_PARTITIONS": "many", "KAFKA_SUPPORT": "x"}
    run = entrypoint.command(["serve"], {**environ, **KUBERNETES, "KAFKA_PORT": "9092"}, False)
    options = parser().parse_args(run[2:])
    with pytest.raises(ConfigError) as refused:
        ServerConfig.load(None, options.override, {}, options.variable)
    said = str(refused.value)
    for name in environ:
        assert f"environment variable {name}" in said
    assert "did you mean log.dirs?" in said
    assert "--override" not in said
    assert len(refused.value.problems) == len(environ)


def test_arguments_win_over_variables_and_variables_over_the_file() -> None:
    run = entrypoint.command(["serve", "--override", "num.partitions=5"], {"KAFKA_NUM_PARTITIONS": "4"}, False)
    options = parser().parse_args(run[2:])
    assert ServerConfig.load("num.partitions=3", options.override, {}, options.variable)["num.partitions"] == 5
    assert ServerConfig.load("num.partitions=3", [], {}, options.variable)["num.partitions"] == 4


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        (
            {"KAFKA_OPTS": "-Xmx1g -Djava.security.auth.login.config=/etc/jaas.conf"},
            "java.security.auth.login.config is set",
        ),
        ({"KAFKA_AUTHORIZER_CLASS_NAME": "a.B"}, "authorizer.class.name is set"),
        ({"KAFKA_LISTENER_NAME_SASL__PLAINTEXT_PLAIN_SASL_JAAS_CONFIG": "x;"}, "sasl.jaas.config is set"),
        ({"KAFKA_SSL_PROVIDER": "BC"}, "ssl.provider is set"),
    ],
)
def test_security_in_variables_stops_the_start(environ: dict[str, str], said: str) -> None:
    options = parser().parse_args(entrypoint.command(["serve"], environ, False)[2:])
    config = ServerConfig.load(None, options.override, {}, options.variable)
    (problem,) = unserved_security(config, config.protocols)
    assert said in problem
    assert f"environment variable {next(iter(environ))}" in problem


def test_a_mounted_file_says_all_that_no_variable_says() -> None:
    expected = f"odradek serve --announce-as-kafka --variable KAFKA_NODE_ID node.id=7 {MOUNTED}"
    assert command("serve", {"KAFKA_NODE_ID": "7"}, has_file=True) == expected


def test_arguments_come_last_and_may_name_another_file() -> None:
    environ = {"KAFKA_NODE_ID": "7"}
    assert command("serve --log-format=json --override node.id=8", environ, has_file=True).endswith(
        f"node.id=7 {MOUNTED} --log-format=json --override node.id=8"
    )
    assert (
        command("serve --log-level debug my.properties")
        == "odradek serve --announce-as-kafka --log-level debug my.properties"
    )


@pytest.mark.parametrize(
    ("environ", "text", "address"),
    [
        ({}, OWN_TEXT, "localhost:9092"),
        (SINGLE_NODE, OWN_TEXT, "localhost:9092"),
        ({"KAFKA_LISTENERS": "A://127.0.0.1:7,B://:8"}, OWN_TEXT, "127.0.0.1:7"),
        ({"KAFKA_ADVERTISED_LISTENERS": "A://far.example:7"}, OWN_TEXT, "localhost:7"),
        ({"ODRADEK_LISTENERS": "A://[::]:9"}, OWN_TEXT, "localhost:9"),
        ({}, "controller.listener.names=C\nlisteners = C://:1,D://:2\n", "localhost:2"),
        ({}, "node.id=1\n", "localhost:9092"),
    ],
)
def test_the_health_check_asks_the_first_listener(environ: dict[str, str], text: str, address: str) -> None:
    assert entrypoint.health_address(environ, text, has_file=text != OWN_TEXT) == address


def test_a_broker_is_checked_at_once_then_every_second_then_every_five() -> None:
    assert "HEALTHCHECK --interval=250ms " in (DOCKER / "Dockerfile").read_text()
    check = ["odradek", "health", "--bootstrap-only", "--bootstrap-server", "localhost:9092"]
    waiting = [*check, "--wait", "4000"]
    assert entrypoint.health_command("localhost:9092", 0.5, expects_broker=True) == waiting
    new = entrypoint.health_command("localhost:9092", 2.5, expects_broker=True)
    assert new == ["sh", "-c", 'sleep 0.75; exec "$0" "$@"', *waiting]
    later = entrypoint.health_command("localhost:9092", 31, expects_broker=True)
    assert later == ["sh", "-c", 'sleep 4.75; exec "$0" "$@"', *check]
    at_once = [*later[:2], later[2].replace("sleep 4.75", ":"), "echo", *later[4:]]
    assert subprocess.run(at_once, capture_output=True, text=True, check=True).stdout.split() == check[1:]


def test_a_listening_socket_is_seen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        table = Path("/proc/net/tcp").read_text().splitlines()
        assert entrypoint.is_listening(port, table)
        entrypoint.wait_for_listener(f"localhost:{port}")
        client = socket.create_connection(("127.0.0.1", port))
        own_port = client.getsockname()[1]
        assert not entrypoint.is_listening(own_port, Path("/proc/net/tcp").read_text().splitlines())  # it is connected
        client.close()


def test_the_age_of_process_1_is_known() -> None:
    assert entrypoint.broker_age_s() > 0, "process 1 has run since this machine or container began"


def test_the_jobs_image_runs_commands_of_spark_and_of_odradek() -> None:
    jobs = entry_point("jobs/entrypoint.py")
    assert jobs.command(["spark-submit", "--version"]) == ["spark-submit", "--version"]
    assert jobs.command(["audit", "/logs"]) == ["odradek", "audit", "/logs"]
    assert jobs.command([]) == ["odradek"]


NODE_MODULE = {
    "KAFKA_LISTENERS": "SECURE://0.0.0.0:9096,PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
}
"""Of Testcontainers' module for Node. Clients outside the container get addresses that do not exist inside."""


def test_tools_inside_ask_the_listener_for_brokers() -> None:
    assert entrypoint.address_inside(NODE_MODULE, OWN_TEXT, False) == "localhost:9092"
    assert entrypoint.health_address(NODE_MODULE, OWN_TEXT, False) == "localhost:9096"
    of_file = OWN_TEXT + "listeners=A://:1,B://[::1]:2\ninter.broker.listener.name=B\n"
    assert entrypoint.address_inside({}, of_file, True) == "[::1]:2"
    assert entrypoint.address_inside({}, OWN_TEXT, False) == "localhost:9092"


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ("--alter --zookeeper zoo:2181/path --user alice", "--alter --bootstrap-server here:1 --user alice"),
        ("--zookeeper=zoo:2181 --describe", "--bootstrap-server here:1 --describe"),
        ("--describe --zookeeper", "--describe --bootstrap-server here:1"),
    ],
)
def test_kafka_configs_waits_for_the_broker_in_place_of_zookeeper(given: str, arguments: str) -> None:
    run = entrypoint.configs_command(shlex.split(given), "here:1")
    assert run[:2] == ["sh", "-c"]
    assert run[2].startswith("odradek health --bootstrap-only --bootstrap-server here:1 --wait 30000 ")
    assert shlex.join(run[4:]) == arguments


def test_kafka_configs_without_zookeeper_is_the_command() -> None:
    given = "--bootstrap-server there:2 --describe"
    assert shlex.join(entrypoint.configs_command(shlex.split(given), "here:1")) == f"odradek configs {given}"


def test_the_port_of_zookeeper_is_that_of_its_file() -> None:
    zookeeper = entry_point("zookeeper.py")
    assert zookeeper.client_port("dataDir=/tmp\nclientPort=2182\n") == 2182
    assert zookeeper.client_port("#clientPort=1\n") == 2181


@pytest.mark.parametrize(
    ("command", "is_broker"),
    [
        ("odradek-entrypoint serve", True),
        ("/opt/odradek/bin/python /opt/odradek/bin/odradek serve --announce-as-kafka", True),
        ("/opt/odradek/bin/python /opt/odradek/bin/odradek test-broker --host 0.0.0.0", True),
        ("/opt/odradek/bin/python /opt/odradek/bin/odradek-entrypoint healthcheck", False),
        ("bash -c 'sleep infinity'", False),
        ("", False),
    ],
)
def test_a_container_without_a_broker_is_healthy_after_a_while(command: str, is_broker: bool) -> None:
    assert entrypoint.serves([shlex.split(command), ["sh"]]) is is_broker
    for age_s, asks in ((1, True), (6, is_broker), (60, is_broker)):
        assert ("health" in entrypoint.health_command("here:1", age_s, is_broker)) is asks


@pytest.mark.parametrize(
    ("command", "expects"),
    [
        ("sh -c 'sleep 10; /etc/confluent/docker/run'", True),
        ("sh -c 'sleep 10; exec /etc/kafka/docker/run'", True),
        ("bash -c 'sleep 10; kafka-server-start.sh /etc/kafka/server.properties'", True),
        ("sh -c 'sleep 10; odradek serve'", True),
        ('sh -c \'sleep 10; "odradek" "test-broker"\'', True),
        ("sh later.sh", True),
        ("/bin/bash later.sh with arguments", True),
        ("sh other.sh", False),
        ("sh missing.sh", False),
        ("sh directory", False),
        ("sh program.bin", False),
        ("tail -f later.sh", False),
        ("sh -c 'sleep infinity'", False),
        ("sh -c 'odradek topics --create --topic serve'", False),
        ("sh -c 'while [ ! -f /testcontainers_start.sh ]; do sleep 0.1; done; /testcontainers_start.sh'", False),
    ],
)
def test_a_script_that_starts_a_broker_is_known_before_it_does(tmp_path: Path, command: str, expects: bool) -> None:
    start = "sleep 10\nexec /etc/kafka/docker/run\n"
    (tmp_path / "later.sh").write_text(start)
    (tmp_path / "other.sh").write_text("sleep 10\n")
    (tmp_path / "program.bin").write_bytes(b"\x7fELF\xff" + start.encode())
    (tmp_path / "directory").mkdir()
    assert entrypoint.will_serve([(str(tmp_path), shlex.split(command))]) is expects


def test_the_processes_of_this_machine_are_seen() -> None:
    [(directory, words)] = [one for one in entrypoint.running() if f"/proc/{os.getpid()}/" in one[0]]
    assert words[:-1] == sys.orig_argv
    assert Path(directory).resolve() == Path.cwd()
