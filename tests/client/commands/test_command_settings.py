"""Files and flags with settings reach the admin client, the producer and the consumer of a command."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from odradek.__main__ import run_command

from ..command_shell import Shell


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("topics", ["--list"]),
        ("configs", ["--describe", "--broker", "1"]),
        ("get-offsets", ["--exclude-internal-topics"]),
        ("log-dirs", ["--describe"]),
        ("groups", ["--list"]),
        ("transactions", ["list"]),
        ("health", []),
        ("produce", ["--topic", "settings", "--tombstone", "--key", "k"]),
        ("consume", ["--topic", "settings", "--until-end"]),
    ],
)
def test_a_file_with_settings_of_the_admin_client(
    shell: Shell, tmp_path: Path, command: str, arguments: list[str]
) -> None:
    path = tmp_path / "admin.properties"
    path.write_text("client.id=ops\nsasl.mechanism=PLAIN\nsasl.mechanisms=PLAIN\n")
    shell.run("topics", "--create", "--topic", "settings", "--if-not-exists")
    code, _, err = shell.run(command, "--command-config", str(path), *arguments)
    assert (code, err.splitlines()[:1]) == (0, [f"{path}: these settings have no effect here: sasl.mechanisms"])
    path.write_text("# TLS\nsecurity.protocol=TLS\n")
    code, _, err = shell.run(command, "--command-config", str(path), *arguments)
    assert (code, f"{path}, line 2: security.protocol is 'TLS'; it can be PLAINTEXT, SSL" in err) == (1, True)
    property_ = ["--command-property", "request.timeout.ms=soon"]
    path.write_text("request.timeout.ms=1000\n")
    # In a command with actions, the options of the admin client come before the action.
    code, _, err = shell.run(command, "--command-config", str(path), *property_, *arguments)
    assert (code, "--command-property: request.timeout.ms=soon must be a number" in err) == (1, True)


def test_bad_files_name_the_line_and_no_secret(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "admin.properties"
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required \\\n  username="u" password=0secret;'
    for text, message in (
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n", "line 3: sasl.jaas.config: "),
        ("security.protocol=SSL\nssl.truststore.location=/missing\n", "line 2: ssl.truststore.location=/missing"),
        ("security.protocol=SSL\nssl.keystore.location=/missing\n", "line 2: ssl.keystore.location=/missing"),
        ("\n\nretry.backoff.ms=x\n", "line 3: retry.backoff.ms=x must be a number"),
        ("a=\\u00\n", "line 1: Malformed"),
    ):
        path.write_text(text)
        code, _, err = shell.run("topics", "--list", "--command-config", str(path))
        assert code == 1
        assert f"{path}, {message}" in err or f"{path}: {message}" in err
        assert "secret" not in err


def test_deprecated_flags_say_so(shell: Shell, name: str, tmp_path: Path) -> None:
    shell.create(name)
    path = tmp_path / "client.properties"
    path.write_text("client.id=c\n")
    deprecated = "Option {} is deprecated and will be removed in a future version. Use {} instead.\n"
    _, _, err = shell.run("produce", "--topic", name, "--tombstone", "--key", "k", "--producer.config", str(path))
    assert err == deprecated.format("--producer.config", "--command-config")
    read = ["consume", "--topic", name, "--until-end", "--consumer-property", "client.id=d"]
    _, _, err = shell.run(*read)
    assert deprecated.format("--consumer-property", "--command-property") in err


def test_settings_of_the_producer_stand_under_flags_and_properties_above_the_file(
    shell: Shell, name: str, tmp_path: Path
) -> None:
    shell.create(name)
    path = tmp_path / "producer.properties"
    path.write_text("acks=0\nmax.request.size=80\n")

    def sent(*arguments: str) -> Any:
        key = ["--topic", name, "--tombstone", "--key", "k" * 200]
        code, out, err = shell.run("produce", "--json", "--command-config", str(path), *key, *arguments)
        return json.loads(out)["offset"] if code == 0 else err

    assert "max_request_size" in sent(), "from the file"
    larger = ["--command-property", "max.request.size=1000000"]
    assert sent(*larger) is None, "acks=0 tells no offset"
    assert isinstance(sent(*larger, "--acks", "1"), int)
    assert "--command-property: linger.ms=soon must be a number" in sent("--producer-property", "linger.ms=soon")


def test_settings_of_the_consumer_name_its_group_and_where_it_begins(shell: Shell, name: str, tmp_path: Path) -> None:
    shell.create(name)
    shell.produce(name, "one\ntwo\n")
    path = tmp_path / "consumer.properties"
    path.write_text(f"group.id={name}\nauto.offset.reset=earliest\nmax.poll.records=1\n")
    read = ["consume", "--topic", name, "--max-messages", "2", "--consumer.config", str(path)]
    assert shell.out(*read) == "one\ntwo\n"
    assert shell.json("groups", "--describe", "--group", name)[0]["totalLag"] == 0
    code, _, err = shell.run(*read, "--group", "another")
    assert (code, f"Detected group ids: 'another', '{name}'" in err) == (2, True)
    later = ["--consumer-property", "auto.offset.reset=latest"]
    code, _, err = shell.run(*read, *later, "--from-beginning")
    assert (code, "--from-beginning and auto.offset.reset=latest" in err) == (2, True)
    by_time = ["--command-property", "auto.offset.reset=by_duration:PT1H"]
    assert shell.out("consume", "--topic", name, "--max-messages", "2", *by_time) == "one\ntwo\n"


def test_the_environment_names_a_file_if_no_flag_does(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The health check of a container has no flags of its own."""
    of_environment, of_flag = tmp_path / "environment.properties", tmp_path / "flag.properties"
    of_environment.write_text("security.protocol=TLS\n")
    of_flag.write_text("client.id=ops\n")
    monkeypatch.setenv("ODRADEK_COMMAND_CONFIG", str(of_environment))
    code, _, err = shell.run("health")
    assert (code, f"{of_environment}, line 1: security.protocol is 'TLS'" in err) == (1, True)
    assert shell.run("health", "--command-config", str(of_flag))[0] == 0
    monkeypatch.setenv("ODRADEK_COMMAND_CONFIG", str(tmp_path / "missing"))
    code, _, err = shell.run("health")
    assert (code, "No such file" in err) == (1, True)


def test_the_timeout_limits_the_connection_too(capfd: pytest.CaptureFixture[str]) -> None:
    """A server that accepts connections and never answers: a paused broker, a wrong port."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert run_command(["topics", "--list", "--bootstrap-server", address, "--timeout", "50"]) == 1
    assert "did not answer ApiVersions within 50 ms" in capfd.readouterr().err
