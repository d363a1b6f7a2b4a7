"""The commands on a secured real Kafka print the same as Kafka's own tools, and log in with the settings of their
files.
"""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from odradek.__main__ import COMMANDS
from support.eventually import eventually
from support.kafka.both_tools import BothTools
from support.kafka.tools import KafkaTools
from support.security.secured_kafka import SecuredKafka, write_properties

pytestmark = pytest.mark.java

TOKEN = re.compile(r"[\w+/]{86}==|(?<![\w-])[\w-]{22}(?![\w-])|\d{4}-\d\d-\d\dT\d\d:\d\d")
"""An HMAC, which may contain text like the id of a token; an id; a time."""


@pytest.fixture
def both(tools: KafkaTools, capfd: pytest.CaptureFixture[str]) -> BothTools:
    return BothTools(tools, capfd)


def test_acls_print_what_kafka_acls_prints(secured: SecuredKafka, both: BothTools, name: str) -> None:
    """Each change is made by ours and by Kafka's tool, on different resources with names of equal length."""
    server = ("--bootstrap-server", secured.bootstrap_servers)

    def each(*arguments: str) -> str:
        """Our output. Asserts that Kafka's tool prints the same for its resource."""
        ours = both.ours("acls", *server, *(a.replace("NAME", f"{name}-mine") for a in arguments))
        theirs = both.theirs("acls", *server, *(a.replace("NAME", f"{name}-your") for a in arguments))
        mine, yours = (sorted(map(str.strip, output.out.splitlines())) for output in (ours, theirs))
        assert (ours.code, mine) == (theirs.code, [line.replace("-your", "-mine") for line in yours]), ours.err
        return ours.out

    add = ("--add", "--topic", "NAME", "--operation", "Read", "--operation", "DescribeConfigs")
    who = ("--allow-principal", "User:alice", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1")
    assert "Adding ACLs for resource" in each(*add, *who)
    assert "already exists" in each(*add, *who)
    consumer = ("--topic", "NAME", "--consumer", "--group", "NAME-g", "--allow-principal", "User:carol")
    each("--add", *consumer)
    producer = ("--topic", "NAME", "--producer", "--transactional-id", "NAME-x", "--allow-principal", "User:dave")
    each("--add", *producer, "--resource-pattern-type", "prefixed")
    assert "Current ACLs" in each("--list", "--topic", "NAME")
    each("--list", "--topic", "NAME", "--principal", "User:alice", "--principal", "User:nemo")
    each("--list", "--group", "NAME-g")
    each("--list", "--topic", "NAME-longer", "--resource-pattern-type", "match")
    each("--remove", "--force", *consumer)
    each("--list", "--topic", "NAME")
    each("--remove", "--force", "--topic", "NAME", "--resource-pattern-type", "any")
    assert each("--list", "--topic", "NAME", "--resource-pattern-type", "any") == ""
    each("--remove", "--force", "--transactional-id", "NAME-x", "--resource-pattern-type", "any")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--add", "--topic", "t"],
        ["--add", "--allow-principal", "User:a"],
        ["--add", "--topic", "t", "--producer", "--operation", "Read", "--allow-principal", "User:a"],
        ["--add", "--topic", "t", "--consumer", "--allow-principal", "User:a"],
        ["--add", "--topic", "t", "--resource-pattern-type", "match", "--allow-principal", "User:a"],
        ["--list", "--allow-principal", "User:a"],
        ["--remove", "--topic", "t", "--principal", "User:a"],
        ["--add", "--group", "g", "--idempotent", "--allow-principal", "User:a"],
    ],
)
def test_wrong_usage_has_kafkas_words(secured: SecuredKafka, both: BothTools, arguments: list[str]) -> None:
    theirs = both.theirs("acls", "--bootstrap-server", secured.bootstrap_servers, *arguments)
    ours = both.ours("acls", "--bootstrap-server", secured.bootstrap_servers, *arguments)
    assert (theirs.code, ours.code) == (1, 2)
    sentence = theirs.err.splitlines()[0].strip()
    assert sentence in ours.err.replace("\n", " ")


def test_quotas_and_users_print_what_kafka_configs_prints(secured: SecuredKafka, both: BothTools, name: str) -> None:
    """Ours makes a change, then Kafka's tool makes the same again. Both describe the same."""
    server = ("--bootstrap-server", secured.bootstrap_servers)
    user, client = f"{name}-u", f"{name}-c"

    def same(*arguments: str) -> str:
        return both.same("configs", *server, *arguments)

    def alter(*arguments: str, shown: str, gone: bool = False) -> None:
        """Makes one change, and waits until the broker has learned of it from its controller."""
        done = [run("configs", *server, *arguments, "--alter", *change) for run, change in changes_of(gone, shown)]
        assert {one.code for one in done} == {0}, done
        assert len({one.out for one in done}) == 1
        described = ("configs", *server, *arguments, "--describe")
        eventually("the change is described", lambda: (shown in both.ours(*described).out) != gone)

    def changes_of(gone: bool, shown: str) -> list[tuple[Any, tuple[str, str]]]:
        key = shown.partition("=")[0]
        if gone:  # a deleted one cannot be deleted again
            return [(both.ours, ("--delete-config", key))]
        return [(run, ("--add-config", shown.removesuffix(".0"))) for run in (both.ours, both.theirs)]

    entities = [
        ("--entity-type", "users", "--entity-name", user, "--entity-type", "clients", "--entity-default"),
        ("--user", user, "--client", client),
        ("--user", user),
        ("--client-defaults",),
        ("--client", client),
    ]
    for entity in entities:
        alter(*entity, shown="consumer_byte_rate=2048.0")
        alter(*entity, shown="producer_byte_rate=1.0E7" if entity == entities[0] else "producer_byte_rate=1024.0")
        same(*entity, "--describe")
        alter(*entity, shown="consumer_byte_rate=2048.0", gone=True)
        same(*entity, "--describe")
    for ip in (("--ip", "127.0.0.9"), ("--ip-defaults",)):
        alter(*ip, shown="connection_creation_rate=500.0")
        same(*ip, "--describe")
    same("--entity-type", "users", "--describe")
    same("--entity-type", "clients", "--entity-type", "users", "--describe")
    both_at_once = "SCRAM-SHA-256=[password=x],SCRAM-SHA-512=[password=x]"
    assert same("--user", user, "--alter", "--add-config", both_at_once) == "", "one credential in each request"
    for password in ("SCRAM-SHA-256=[iterations=8192,password=a,b=c]", "SCRAM-SHA-512=[password=x]"):
        assert "Completed updating config" in same("--user", user, "--alter", "--add-config", password)
    eventually(
        "the credentials are described",
        lambda: "SCRAM-SHA-512=iterations=4096" in both.ours("configs", *server, "--user", user, "--describe").out,
    )
    assert "SCRAM-SHA-256=iterations=8192" in same("--user", user, "--describe")
    same("--user", "nemo", "--describe")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--user-defaults", "--alter", "--add-config", "SCRAM-SHA-256=[password=hidden]"],
        ["--client", "c", "--alter", "--add-config", "SCRAM-SHA-256=[password=hidden]"],
        ["--user", "u", "--alter", "--add-config", "SCRAM-SHA-256=[password=hidden],request_percentage=1"],
        ["--user", "u", "--alter", "--add-config", "SCRAM-SHA-256=[iterations=1,password=hidden]"],
        ["--user", "u", "--alter", "--add-config", "SCRAM-SHA-256=[hidden]"],
        ["--ip", "127.0.0.1", "--alter", "--add-config", "producer_byte_rate=1"],
        ["--user", "u", "--alter", "--add-config", "producer_byte_rate=hidden-no"],
        ["--user", "u", "--alter", "--delete-config", "producer_byte_rate"],
        ["--user", "u", "--ip", "127.0.0.1", "--describe"],
    ],
)
def test_what_kafka_configs_refuses_is_refused(secured: SecuredKafka, both: BothTools, arguments: list[str]) -> None:
    """The error does not show a password."""
    server = ("--bootstrap-server", secured.bootstrap_servers)
    assert both.theirs("configs", *server, *arguments).code == 1
    ours = both.ours("configs", *server, *arguments)
    assert ours.code in (1, 2)
    assert "password=hidden" not in ours.err
    assert "[hidden]" not in ours.err


def test_tokens_print_what_kafka_delegation_tokens_prints(
    secured: SecuredKafka, both: BothTools, tmp_path: Path
) -> None:
    file = write_properties(tmp_path / "alice.properties", secured.client("SASL_PLAINTEXT"))
    common = ("--bootstrap-server", secured.address("SASL_PLAINTEXT"), "--command-config", str(file))

    def shape(text: str) -> list[str]:
        return [TOKEN.sub("#", line).rstrip() for line in text.splitlines()]

    create = ("--create", "--max-life-time-period", "600000", "--renewer-principal", "User:bob")
    created = both.ours("delegation-tokens", *common, *create)
    theirs = both.theirs("delegation-tokens", *common, *create)
    assert (created.code, shape(created.out)) == (theirs.code, shape(theirs.out)), (created.err, theirs.err)
    describe = ("delegation-tokens", *common, "--describe")
    # Kafka's broker may show a token only after the controller has answered.
    owner = ("--owner-principal", "User:alice")
    eventually("both tokens are shown", lambda: "Total number of tokens : 2" in both.ours(*describe, *owner).out)
    both.same(*describe, of=lambda text: sorted(text.splitlines()))
    listed = both.same("delegation-tokens", *common, "--describe", *owner, of=lambda text: sorted(text.splitlines()))
    assert "Total number of tokens : 2" in listed
    hmacs = re.findall(r"[\w+/]{86}==", listed)
    assert len(hmacs) == 2
    for action, period in (("renew", "60000"), ("expire", "-1")):
        option = "--renew-time-period" if action == "renew" else "--expiry-time-period"
        for tool, hmac in zip((both.ours, both.theirs), hmacs, strict=True):
            done = tool("delegation-tokens", *common, f"--{action}", "--hmac", hmac, option, period)
            assert f"Completed {action} operation. New expiry date : 2" in done.out
            assert tool == both.theirs or hmac not in done.out
    assert both.ours("delegation-tokens", *common, "--renew", "--hmac", "!", "--renew-time-period", "1").code == 2


def test_every_command_logs_in(
    secured: SecuredKafka, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With one file for all, over TLS, and with properties instead of the file."""
    settings = secured.client("SASL_SSL", "PLAIN", "admin")
    file = write_properties(tmp_path / "admin.properties", settings)
    address = ["--bootstrap-server", secured.address("SASL_SSL")]
    calls: list[tuple[str, list[str]]] = [
        ("topics", ["--create", "--topic", name]),
        ("topics", ["--list"]),
        ("produce", ["--topic", name, "--tombstone", "--key", "k"]),
        ("consume", ["--topic", name, "--from-beginning", "--max-messages", "1", "--group", name]),
        ("groups", ["--list"]),
        ("transactions", ["list"]),
        ("configs", ["--describe", "--topic", name]),
        ("acls", ["--list"]),
        ("delegation-tokens", ["--describe"]),
        ("get-offsets", ["--topic", name]),
        ("log-dirs", ["--describe"]),
        ("broker-api-versions", []),
        ("cluster", ["cluster-id"]),
        ("features", ["describe"]),
        ("metadata-quorum", ["describe", "--status"]),
        ("health", []),
    ]
    for command, arguments in calls:
        module, _, function = COMMANDS[command][0].partition(":")
        run = getattr(import_module(module), function)
        assert run([*address, "--command-config", str(file), *arguments]) == 0, (command, capfd.readouterr().err)
    capfd.readouterr()
    properties = [part for key, value in settings.items() for part in ("--command-property", f"{key}={value}")]
    topics = getattr(import_module("odradek.client.commands.topics"), "topics")  # noqa: B009 - a module's function
    assert topics([*address, *properties, "--list", "--json"]) == 0
    assert name in json.dumps(json.loads(capfd.readouterr().out))
    wrong = [*properties, "--command-property", secured_password("wrong-one")]
    assert topics([*address, *wrong, "--list"]) == 1
    err = capfd.readouterr().err
    assert "(PLAIN, user 'admin') refuses the login: Authentication failed" in err
    assert "wrong-one" not in err


def secured_password(password: str) -> str:
    """``sasl.jaas.config`` of admin with another password."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return f'sasl.jaas.config={module} username="admin" password="{password}";'
