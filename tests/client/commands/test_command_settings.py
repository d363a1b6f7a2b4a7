"""Files and flags with settings reach the admin client, the producer and the consumer of a command."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.brokers.command_shell import Shell


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
    path.write_text("client.id=ops\nsasl.mechanism=PLAIN\n")
    shell.run("topics", "--create", "--topic", "settings", "--if-not-exists")
    code, _, err = shell.run(command, "--command-config", str(path), *arguments)
    assert (code, err.splitlines()[:1]) == (0, [f"{path}: no effect here: sasl.mechanism"])
    path.write_text("security.protocol=SSL\n")
    code, _, err = shell.run(command, "--command-config", str(path), *arguments)
    assert (code, "security.protocol=SSL is not supported yet" in err) == (1, True)


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
