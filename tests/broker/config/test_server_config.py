"""The server's configuration: sources, precedence, types, messages, listeners."""

import re

import pytest

from odradek.broker.config.definition import server_keys
from odradek.broker.config.dynamic_config import validate_broker_configs
from odradek.broker.config.effective import EFFECTIVE
from odradek.broker.config.errors import ConfigError
from odradek.broker.config.listeners import Listener
from odradek.broker.config.own_keys import OWN_KEYS, OWN_PREFIX
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.config.sources import (
    OTHER_VARIABLES,
    environment_name,
    environment_settings,
    is_known,
    repeated_keys,
)
from odradek.broker.config.typed_values import OUR_DEFAULTS
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.properties import decode_properties
from support.pipeline.wheel import ROOT


def problems(text: str = "", overrides: list[str] | None = None, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        ServerConfig.load(text, overrides or [], environ or {})
    assert str(refused.value) == "\n".join(refused.value.problems)
    return str(refused.value)


def test_telemetry_needs_an_endpoint_that_shows_it() -> None:
    with pytest.raises(ConfigError, match=r"needs odradek\.metrics\.listener"):
        ServerConfig.load(None, ["odradek.telemetry.enable=true"], {})
    both = ["odradek.telemetry.enable=true", "odradek.metrics.listener=127.0.0.1:0"]
    assert ServerConfig.load(None, both, {}).get_boolean("odradek.telemetry.enable")


def test_nothing_set_gives_the_defaults_of_kafka_and_ours() -> None:
    config = ServerConfig.load()
    assert config["log.segment.bytes"] == 1 << 30
    assert config["log.cleaner.min.cleanable.ratio"] == 0.5
    assert config["auto.create.topics.enable"] is True
    assert config["log.cleanup.policy"] == ("delete",)
    assert config["log.retention.ms"] is None
    assert config["process.roles"] == ()
    assert (config.node_id, config["broker.id"], config.log_dirs) == (1, 1, ("./data",))
    assert config.get_int("offsets.topic.replication.factor") == 1
    assert len(server_keys()) == 379 + len(OWN_KEYS)
    assert config.keys_without_effect() == []


def test_every_key_has_a_default_that_its_own_rule_allows() -> None:
    config = ServerConfig.load()
    given = {key: definition.default for key, definition in server_keys().items() if definition.default is not None}
    text = "".join(f"{key}={OUR_DEFAULTS.get(key, default)}\n" for key, default in given.items())
    explicit = ServerConfig.load(text.replace("\\", "\\\\"))
    assert {key: explicit[key] for key in given} == {key: config[key] for key in given}


def test_the_stronger_source_wins() -> None:
    text = "num.partitions=2\nnum.io.threads=2\nbackground.threads=2\n"
    environ = {"ODRADEK_NUM_IO_THREADS": "3", "ODRADEK_BACKGROUND_THREADS": "3", "PATH": "/bin"}
    config = ServerConfig.load(text, ["background.threads=4", "log.dirs=a=b, c"], environ)
    assert [config[key] for key in ("num.partitions", "num.io.threads", "background.threads")] == [2, 3, 4]
    assert config.log_dirs == ("a=b", "c")


def test_a_key_of_our_own_says_so_in_its_name_and_what_it_does() -> None:
    for key, facts in OWN_KEYS.items():
        assert key.startswith(OWN_PREFIX)
        assert EFFECTIVE[key] == facts["what"]
        assert not environment_name(key).startswith("ODRADEK_ODRADEK_")


def test_no_two_keys_share_an_environment_variable() -> None:
    assert len({environment_name(key) for key in server_keys()}) == len(server_keys())


def test_variables_of_other_commands_are_passed_over() -> None:
    assert not ServerConfig.load("", [], {"ODRADEK_BOOTSTRAP_SERVER": "localhost:9092"}).originals
    assert not {environment_name(key) for key in server_keys()} & OTHER_VARIABLES


def test_no_variable_that_a_page_or_the_image_names_stops_a_start() -> None:
    """Each is one of a key, or one that a broker ignores."""
    places = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docker").rglob("*.yaml"), ROOT / "docker" / "entrypoint.py"]
    named = {name for path in places for name in re.findall(r"\bODRADEK_[A-Z_]+(?<!_)\b", path.read_text())}
    assert {"ODRADEK_CREATE_TOPICS", "ODRADEK_LOGS"} <= named
    of_tests = {name for name in named if name.endswith(("_SEED", "_STEPS"))}
    settings = environment_settings(dict.fromkeys(named - of_tests - {"ODRADEK_X_Y"}, "1"))
    assert not [setting.where for setting in settings if not is_known(setting.key)]


def test_prefixed_keys_come_through_the_environment_as_in_kafkas_image() -> None:
    environ = {"ODRADEK_LISTENER_NAME_MY___OWN__NAME_MAX_CONNECTIONS": "5"}
    assert ServerConfig.load("", [], environ).originals == {"listener.name.my-own_name.max.connections": "5"}


def test_all_that_is_wrong_is_said_at_once_with_the_key_meant() -> None:
    said = problems(
        "log.segment.byts=1\n\nnum.partitions=0\nzookeeper.connect=x\nqqqq=1\n",
        ["no-value"],
        {"ODRADEK_LOG_SEGMENT_BYTES": "1k", "ODRADEK_NUM_PARTITION": "1"},
    ).splitlines()
    assert said == [
        "--override no-value: must be key=value",
        "Unknown key log.segment.byts: did you mean log.segment.bytes? (line 1)",
        "zookeeper.connect is a key of Kafka 3 that Kafka 4 no longer has: remove it (line 4)",
        "Unknown key qqqq: Apache Kafka 4.4.0 has no such key (line 5)",
        "Unknown key num.partition: did you mean num.partitions? (environment variable ODRADEK_NUM_PARTITION)",
        "Invalid value 0 for configuration num.partitions: Value must be at least 1 (line 3; int, [1,...])",
        "Invalid value 1k for configuration log.segment.bytes: Not a number of type INT "
        "(environment variable ODRADEK_LOG_SEGMENT_BYTES; int, [1048576,...])",
    ]


def test_a_malformed_file_is_named_with_its_line() -> None:
    assert "line 2: Malformed" in problems("a.b=1\nc=\\u12x\n")


def test_a_secret_is_never_shown() -> None:
    config = ServerConfig.load("ssl.keystore.password=hunter2")
    assert config["ssl.keystore.password"] == "hunter2"
    assert "hunter2" not in repr(config["ssl.keystore.password"])


def test_keys_without_effect_are_listed() -> None:
    config = ServerConfig.load("num.network.threads=9\nnode.id=1\nlistener.name.a.num.network.threads=1\n")
    assert config.keys_without_effect() == ["listener.name.a.num.network.threads", "num.network.threads"]
    assert not ServerConfig.load("node.id=1\nlistener.name.a.max.connections=1\n").keys_without_effect()


def test_node_id_and_broker_id_are_one() -> None:
    assert ServerConfig.load("broker.id=7").node_id == 7
    assert ServerConfig.load("node.id=7")["broker.id"] == 7
    assert "node.id" in problems("node.id=1\nbroker.id=2")


def test_several_listeners_are_parsed_and_advertised_in_their_order() -> None:
    config = ServerConfig.load(
        "listeners=host://:9092, DOCKER://[::1]:0,CONTROLLER://localhost:9093\n"
        "advertised.listeners=DOCKER://broker:29092,HOST://localhost:9092\n"
        "listener.security.protocol.map=HOST:PLAINTEXT,docker:plaintext,CONTROLLER:SSL\n"
        "controller.listener.names=CONTROLLER\ninter.broker.listener.name=docker\n"
        "controller.quorum.voters=1@localhost:9093\nprocess.roles=broker,controller\n"
    )
    assert config.listeners == (Listener("HOST", "PLAINTEXT", "", 9092), Listener("DOCKER", "PLAINTEXT", "::1", 0))
    assert [str(listener) for listener in config.advertised_listeners] == [
        "HOST://localhost:9092",
        "DOCKER://broker:29092",
    ]
    assert [listener.name for listener in config.controller_listeners] == ["CONTROLLER"]
    assert config.inter_broker_listener_name == "DOCKER"
    assert str(config.listeners[1]) == "DOCKER://[::1]:0"


def test_the_configuration_of_one_node_from_kafkas_own_example_works() -> None:
    config = ServerConfig.load(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.bootstrap.servers=localhost:9093\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ninter.broker.listener.name=PLAINTEXT\n"
        "advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n"
        "controller.listener.names=CONTROLLER\nnum.network.threads=3\nlog.dirs=/tmp/kraft-combined-logs\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL\n"
    )
    assert [str(listener) for listener in config.advertised_listeners] == ["PLAINTEXT://localhost:9092"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("listeners=A://:1", "No security protocol defined for listener A"),
        ("listeners=PLAINTEXT:9092", "Unable to parse PLAINTEXT:9092 to a broker endpoint"),
        ("listeners=PLAINTEXT://:70000", "no possible port"),
        ("listeners=", "must not be empty"),
        ("listeners=PLAINTEXT://0.0.0.0:9092", "nonroutable meta-address 0.0.0.0"),
        ("listeners=PLAINTEXT://:1,SSL://:1", "must have a different port"),
        ("listeners=PLAINTEXT://:1,plaintext://:2", "must have a different name"),
        ("advertised.listeners=SSL://host:1", "subset of the ones defined in listeners"),
        ("inter.broker.listener.name=OTHER", "inter.broker.listener.name must be"),
        ("process.roles=controller", "broker with its controller inside"),
        ("controller.quorum.voters=1@a:1,2@b:1", "names node 1, 2"),
        ("controller.quorum.bootstrap.servers=a:1,b:1", "several controllers"),
        ("config.providers=file", "are not supported"),
        ("max.connections.per.ip.overrides=10.0.0.1", "not of the form address:number"),
        ("listener.security.protocol.map=PLAINTEXT", "not of the form NAME:PROTOCOL"),
    ],
)
def test_listeners_and_roles_that_cannot_be_are_refused(text: str, said: str) -> None:
    assert said in problems(text)


def test_another_replica_selector_than_kafkas_is_refused_by_name() -> None:
    rack_aware = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert ServerConfig.load(f"replica.selector.class={rack_aware}", [], {})["replica.selector.class"] == rack_aware
    assert "replica.selector.class: com.example.Nearest is not supported" in problems(
        "replica.selector.class=com.example.Nearest"
    )


def test_dynamic_configs_that_contradict_the_rest_are_refused() -> None:
    server = ServerConfig.load("log.cleaner.min.compaction.lag.ms=5\n")
    validate_broker_configs({"log.cleaner.max.compaction.lag.ms": "5"}, per_broker=False, server=server)
    for configs in ({"log.cleaner.max.compaction.lag.ms": "4"}, {"log.roll.ms": "0"}):
        with pytest.raises(KafkaError) as refused:
            validate_broker_configs(configs, per_broker=False, server=server)
        assert refused.value.error_code is ErrorCode.INVALID_REQUEST


def test_dynamic_configs_stand_above_the_file_and_bad_ones_are_left_out() -> None:
    config = ServerConfig.load("log.retention.hours=24\nmessage.max.bytes=5\nnum.partitions=4\n")
    now = config.with_dynamic(
        {"log.retention.ms": "1000", "message.max.bytes": "6"}, {"message.max.bytes": "7", "num.partitions": "many"}
    )
    assert (now["log.retention.ms"], now["message.max.bytes"], now["num.partitions"]) == (1000, 7, 4)
    assert now["log.retention.hours"] == 168  # as in Kafka, log.retention.ms takes precedence over the other key
    assert now.listeners == config.listeners
    assert config["message.max.bytes"] == 5


def test_internal_topics_of_a_cluster_have_the_replicas_of_kafkas() -> None:
    """A single broker has one replica of its internal topics. A broker of a cluster has Apache Kafka's defaults."""
    cluster = "process.roles=broker\ncontroller.quorum.voters=3000@h:1\ncontroller.listener.names=C\nnode.id=1\n"
    names = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")
    alone, member = ServerConfig.load("", [], {}), ServerConfig.load(cluster, [], {})
    assert [alone[name] for name in names] == [1, 1]
    assert [member[name] for name in names] == [3, 3]
    assert (alone["transaction.state.log.min.isr"], member["transaction.state.log.min.isr"]) == (1, 2)
    assert member.with_dynamic({"log.retention.ms": "5"}, {})["offsets.topic.replication.factor"] == 3


@pytest.mark.parametrize(
    "data", [b"# f\xc3\xbcr\na=\xc3\xbc", b"\xef\xbb\xbf# f\xc3\xbcr\na=\xc3\xbc", b"# f\xfcr\na=\xfc"]
)
def test_a_properties_file_is_utf_8_with_or_without_a_mark_or_iso_8859_1(data: bytes) -> None:
    assert decode_properties(data) == "# für\na=ü"


def test_a_key_that_is_set_to_two_values_is_told_without_the_values() -> None:
    text = "num.partitions=1\nnode.id=1\nnum.partitions=2\nnode.id=1\nnum.partitions=3\n"
    assert list(repeated_keys(text)) == ["num.partitions is set in line 1, 3 and again in line 5, which takes effect"]
    assert ServerConfig.load(text)["num.partitions"] == 3
