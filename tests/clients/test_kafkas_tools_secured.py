"""A secured Kafka's own file of configs, served by ours, and its own tools over SASL_SSL: the same lines from both.

The real Kafka runs first. Then ours starts on the same ports with the same ``server.properties``, but with another
directory and without OAUTHBEARER, whose default takes tokens without a signature in Kafka. The tools log in with a
properties file as Java's clients have it, with a trust store in JKS.
"""

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.both_tools import TOOLS
from support.kafka.java import TABLE_VERSION
from support.kafka.java_program import JavaProgram
from support.kafka.tools import KafkaTools, ToolOutput
from support.security.secured_kafka import SecuredKafka, sasl, write_properties

pytestmark = [pytest.mark.java, pytest.mark.ci]

USER, PASSWORD = "erika", "only hers"
ENTITY = ("--entity-type", "users", "--entity-name", USER)
CLIENTS = ("--entity-type", "clients", "--entity-default")
ADDRESS = ("--entity-type", "ips", "--entity-name", "10.1.2.3")
BROKER = ("--entity-type", "brokers", "--entity-name", "1")
STORE = "listener.name.sasl_ssl.ssl.keystore.location"
WHO = ("--allow-principal", f"User:{USER}")
CHANGING = re.compile(r"[\w+/]{86}==|(?<![\w-])[\w-]{22}(?![\w-])|\d{4}-\d\d-\d\dT\d\d:\d\d")
"""An HMAC, the id of a token or a topic, a time."""


class TlsOracle(JavaProgram):
    """Java, which writes a trust store here."""

    NAME = "TlsOracle"


class SameFile(OurBroker):
    """Ours with a Kafka's own file of configs."""

    def __init__(self, directory: Path, properties: Path) -> None:
        super().__init__(directory)
        self.program = ("-m", "odradek", "serve", str(properties))

    def keys(self) -> dict[str, str]:
        """The keys that differ from the file."""
        return {"log.dirs": str(self.log_dir), "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}


class Step(NamedTuple):
    """A call of a tool; ``until``: Kafka shows a change a little later, so the call is repeated until it prints this.

    ``$HMAC`` in the arguments is that of the token that was created last.
    """

    tool: str
    arguments: Sequence[str]
    until: str = ""
    user: str = "admin"
    code: int = 0


def steps(store: str) -> list[Step]:
    """The calls of an operator and of a user. ``store``: the path of the broker's key store."""
    configs, acls, topics, tokens = "configs", "acls", "topics", "delegation-tokens"
    allowed = [*WHO, "--producer", "--consumer", "--topic", "orders", "--group", "billing"]
    password = f"SCRAM-SHA-256=[iterations=8192,password={PASSWORD}]"
    return [
        Step(configs, [*ENTITY, "--alter", "--add-config", password]),
        Step(configs, [*ENTITY, "--describe"], "iterations=8192"),
        Step(topics, ["--list"], user=USER),
        Step(acls, ["--add", "--deny-principal", "User:*", "--operation", "Alter", "--topic", "*"]),
        Step(acls, ["--add", *allowed]),
        Step(acls, ["--list", "--topic", "orders"], f"principal=User:{USER}, host=*, operation=WRITE"),
        Step(acls, ["--list", "--principal", f"User:{USER}"], "name=billing"),
        Step(topics, ["--create", "--topic", "orders"], user=USER),
        Step(topics, ["--list"], "orders", user=USER),
        Step(topics, ["--describe", "--topic", "orders"], user=USER, code=1),  # she may not describe its configs
        Step(topics, ["--alter", "--topic", "orders", "--partitions", "3"], user=USER, code=1),
        Step(acls, ["--add", *WHO, "--deny-host", "10.0.0.1"], code=1),
        Step(configs, [*ENTITY, "--alter", "--add-config", "producer_byte_rate=4096,request_percentage=150"]),
        Step(configs, [*CLIENTS, "--alter", "--add-config", "consumer_byte_rate=8192"]),
        Step(configs, [*ENTITY, *CLIENTS, "--alter", "--add-config", "controller_mutation_rate=20"]),
        Step(configs, [*ADDRESS, "--alter", "--add-config", "connection_creation_rate=5"]),
        Step(configs, [*ADDRESS, "--describe"], "connection_creation_rate=5"),
        Step(configs, [*ENTITY, "--describe"], "request_percentage=150"),
        Step(configs, [*CLIENTS, "--describe"], "consumer_byte_rate=8192"),
        Step(configs, [*ENTITY, *CLIENTS, "--describe"], "controller_mutation_rate=20"),
        Step(configs, [*ADDRESS, "--alter", "--add-config", "producer_byte_rate=5"], code=1),
        Step(configs, [*ENTITY, "--alter", "--delete-config", "producer_byte_rate,request_percentage"]),
        Step(configs, [*BROKER, "--alter", "--add-config", f"{STORE}={store}"]),
        Step(configs, [*BROKER, "--describe"], f"{STORE}={store}"),
        Step(configs, [*BROKER, "--alter", "--add-config", f"{STORE}=/nowhere"], code=1),
        Step(tokens, ["--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"], user=USER),
        Step(tokens, ["--describe", "--owner-principal", f"User:{USER}"], "tokens : 1", user=USER),
        Step(tokens, ["--describe"], user=USER),
        Step(topics, ["--list"], user="token"),
        Step(tokens, ["--create", "--max-life-time-period", "-1"], user="token", code=1),
        Step(tokens, ["--renew", "--hmac", "$HMAC", "--renew-time-period", "60000"], user="bob"),
        Step(tokens, ["--renew", "--hmac", "$HMAC", "--renew-time-period", "60000"], user="alice", code=1),
        Step(tokens, ["--expire", "--hmac", "$HMAC", "--expiry-time-period", "-1"], user=USER),
        Step(acls, ["--remove", "--force", *allowed]),
        Step(acls, ["--list", "--group", "billing"]),
        Step(configs, [*ENTITY, "--alter", "--delete-config", "SCRAM-SHA-256"]),
    ]


class Run:
    """The steps at one broker."""

    def __init__(self, tools: KafkaTools, kafka: SecuredKafka, directory: Path, trust: dict[str, str]) -> None:
        self._tools, self._directory, self._trust = tools, directory, trust
        self._address = kafka.address("SASL_SSL")
        self._hmac = ""
        for user in ("admin", "alice", "bob"):
            self._write(user, {**kafka.client("SASL_SSL", "PLAIN", user), **trust})
        self._write(USER, {"security.protocol": "SASL_SSL", **trust, **sasl("SCRAM-SHA-256", USER, PASSWORD)})

    def lines(self, one: Step) -> tuple[int, list[str]]:
        """The exit code and the lines of a step; without those of the log, and of an error only the sentence."""
        output = self._call(one)
        if one.until:
            eventually(f"{one.until}: {output}", lambda: one.until in self._call(one).out)
            output = self._call(one)
        assert output.code == one.code, (one, output)
        made = re.search(r"^(\S+)\s+(\S+==)\s", output.out, re.MULTILINE)
        if one.tool == "delegation-tokens" and "--create" in one.arguments and made:
            self._hmac = made[2]
            login = sasl("SCRAM-SHA-256", made[1], made[2], tokenauth="true")
            self._write("token", {"security.protocol": "SASL_SSL", **self._trust, **login})
        return output.code, sorted(shown(output.out))

    def _call(self, one: Step) -> ToolOutput:
        arguments = [argument.replace("$HMAC", self._hmac) for argument in one.arguments]
        return self._tools.run(TOOLS[one.tool], self._address, "--command-config", self._file(one.user), *arguments)

    def _write(self, user: str, settings: dict[str, str]) -> None:
        write_properties(Path(self._file(user)), settings)

    def _file(self, user: str) -> str:
        return str(self._directory / f"{user}.properties")


def shown(text: str) -> list[str]:
    """The lines that must be the same, without Java's stack traces. Ours has the topic of offsets from the start."""
    lines = [" ".join(CHANGING.sub("#", line).split()) for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("__consumer_offsets", "at "))]


def test_kafkas_tools_print_the_same_with_the_same_file_of_configs(tmp_path: Path) -> None:
    kafka = SecuredKafka(tmp_path / "kafka")
    server = str(tmp_path / "kafka" / "server.pem")
    with KafkaTools(TABLE_VERSION) as tools:
        trust = trust_in_jks(Path(kafka.trust), tmp_path / "trust.jks")
        with kafka:
            theirs = [run.lines(step) for run in [Run(tools, kafka, tmp_path, trust)] for step in steps(server)]
        ours = SameFile(tmp_path / "ours", tmp_path / "kafka" / "server.properties")
        ours.directory.mkdir()
        with ours:
            run = Run(tools, kafka, tmp_path, trust)
            for step, expected in zip(steps(server), theirs, strict=True):
                assert run.lines(step) == expected, step
            last = run._call(Step("topics", ["--list"], user=USER))
            assert last.code == 1, "a user without a credential is refused"
    assert PASSWORD not in ours.log()
    assert " ERROR " not in ours.log()


def trust_in_jks(authority: Path, path: Path) -> dict[str, str]:
    """Java writes a trust store. Returns the properties for it."""
    der = x509.load_pem_x509_certificate(authority.read_bytes()).public_bytes(Encoding.DER)
    store = {"type": "JKS", "path": str(path), "password": "trusted", "trusted": base64.b64encode(der).decode()}
    with TlsOracle() as java:
        java.order({"store": store})
    return {
        "ssl.truststore.type": "JKS",
        "ssl.truststore.location": str(path),
        "ssl.truststore.password": "trusted",
    }
