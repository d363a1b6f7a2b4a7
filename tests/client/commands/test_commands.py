"""The commands with brokers: flags, output and exit codes are those of Kafka's scripts."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from ..command_shell import Shell


def test_topics(shell: Shell, name: str) -> None:
    shell.create(name, "--partitions", "2", "--config", "retention.ms=777")
    code, out, err = shell.run("topics", "--create", "--topic", name)
    assert (code, out) == (1, "")
    assert err == f"odradek topics: '{name}': Topic '{name}' already exists. (TOPIC_ALREADY_EXISTS)\n"
    assert shell.run("topics", "--create", "--topic", name, "--if-not-exists")[0] == 0
    first, *partitions = shell.out("topics", "--describe", "--topic", name).splitlines()
    assert re.fullmatch(
        rf"Topic: {name}\tTopicId: [\w-]{{22}}\tPartitionCount: 2\tReplicationFactor: 1"
        r"\tConfigs: (.*,)?retention.ms=777.*",
        first,
    )
    node = re.escape(partitions[0].split("Leader: ")[1].split("\t")[0])
    for number, line in enumerate(partitions):
        assert re.fullmatch(
            rf"\tTopic: {name}\tPartition: {number}\tLeader: {node}\tReplicas: {node}\tIsr: {node}"
            r"\tElr: .*\tLastKnownElr: .*",
            line,
        )
    assert shell.out("topics", "--alter", "--topic", name, "--partitions", "3") == ""
    shell.until(lambda: len(shell.json("topics", "--describe", "--topic", name)[0]["partitions"]) > 2)
    described = shell.json("topics", "--describe", "--topic", name)
    assert [p["partition"] for p in described[0]["partitions"]] == [0, 1, 2]
    assert described[0]["configs"]["retention.ms"] == "777"
    assert shell.out("topics", "--delete", "--topic", name) == ""
    shell.until(lambda: name not in shell.out("topics", "--list").splitlines())
    code, _, err = shell.run("topics", "--describe", "--topic", name)
    assert (code, err) == (
        1,
        f"odradek topics: Topic '{name}' does not exist as expected; 'odradek topics --list' shows all\n",
    )
    assert shell.run("topics", "--delete", "--topic", name, "--if-exists")[0] == 0


def test_a_topic_id_that_is_none_or_nobodys(shell: Shell) -> None:
    code, _, err = shell.run("topics", "--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAABB")
    assert (code, err) == (
        1,
        "odradek topics: TopicId 'AAAAAAAAAAAAAAAAAAAABA' does not exist as expected; "
        "'odradek topics --describe' shows all\n",
    )
    code, _, err = shell.run("topics", "--describe", "--topic-id", "short")
    assert (code, "--topic-id short: must be 22 characters" in err) == (2, True)


def test_produce_and_consume_with_keys_headers_and_tombstones(shell: Shell, name: str) -> None:
    shell.create(name)
    shell.produce(
        name,
        "h1:a,h2:NIL\tk1:v1\nNIL\tk2:\nh3:ü\tNIL:v3\r\nNIL\tk4:NIL\n",
        *("--property", "parse.key=true", "--property", "key.separator=:"),
        *("--property", "parse.headers=true", "--property", "null.marker=NIL"),
    )
    shown = shell.out(
        *("consume", "--topic", name, "--from-beginning", "--until-end"),
        *("--property", "print.key=true", "--property", "print.headers=true", "--property", "print.offset=true"),
        *("--property", "print.partition=true", "--property", "key.separator=|"),
    )
    assert shown.splitlines() == [
        "Partition:0|Offset:0|h1:a,h2:null|k1|v1",
        "Partition:0|Offset:1|NO_HEADERS|k2|",
        "Partition:0|Offset:2|h3:ü|null|v3",
        "Partition:0|Offset:3|NO_HEADERS|k4|null",
    ]
    lines = shell.out("consume", "--topic", name, "--from-beginning", "--until-end", "--json").splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["value"] for record in records] == ["v1", "", "v3", None]
    assert records[0]["headers"] == [{"key": "h1", "value": "a"}, {"key": "h2", "value": None}]
    timestamps = shell.out(
        "consume", "--topic", name, "--from-beginning", "--max-messages", "1", "--property", "print.timestamp=true"
    )
    assert re.fullmatch(r"CreateTime:\d{13}\tv1\n", timestamps)
    code, _, err = shell.run("produce", "--topic", name, "--tombstone", "--key", "k1")
    assert (code, err) == (0, "")
    last = shell.out("consume", "--topic", name, "--partition", "0", "--offset", "4", "--until-end", "--json")
    assert (json.loads(last)["key"], json.loads(last)["value"]) == ("k1", None)


def test_a_line_without_its_separator_is_an_error_with_its_number(shell: Shell, name: str, tmp_path: Path) -> None:
    shell.create(name)
    path = tmp_path / "lines"
    path.write_text("a:1\nnokey\n")
    properties = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    code, _, err = shell.run("produce", "--topic", name, "--file", str(path), *properties)
    assert (code, err) == (1, "odradek produce: No key separator found on line number 2: 'nokey'\n")


def test_consume_until_an_offset_a_time_or_so_many(shell: Shell, name: str) -> None:
    shell.create(name)
    shell.produce(name, "a\nb\nc\n")
    shell.produce(name, "d\ne\n")
    records = [
        json.loads(line)
        for line in shell.out("consume", "--topic", name, "--from-beginning", "--until-end", "--json").splitlines()
    ]
    assert [record["value"] for record in records] == list("abcde")

    def consumed(*arguments: str) -> list[str]:
        return shell.out("consume", "--topic", name, *arguments).splitlines()

    assert consumed("--from-beginning", "--until-offset", "3") == ["a", "b", "c"]
    assert consumed("--partition", "0", "--offset", "1", "--until-offset", "2") == ["b"]
    assert consumed("--from-beginning", "--max-messages", "2") == ["a", "b"]
    assert consumed("--from-beginning", "--timeout-ms", "3000") == list("abcde")
    moment = records[3]["timestamp"]
    assert consumed("--from-beginning", "--until-time", str(moment)) == [
        record["value"] for record in records if record["timestamp"] < moment
    ]
    assert consumed("--until-end") == [], "from the end to the end"
    code, _, err = shell.run("consume", "--topic", name + "-missing", "--until-end")
    assert code == 1
    assert "does not exist; create it with 'odradek topics --create" in err


def test_groups(shell: Shell, name: str) -> None:
    shell.create(name, "--partitions", "2")
    shell.produce(name, "a\nb\nc\n", "--partition", "1")
    group = f"g-{name}"
    consumed = shell.out(
        "consume", "--topic", name, "--group", group, "--from-beginning", "--max-messages", "2", "--timeout-ms", "60000"
    )
    assert consumed == "a\nb\n"
    assert group in shell.out("groups", "--list").splitlines()
    code, out, err = shell.run("groups", "--describe", "--group", group)
    assert code == 0
    assert err == f"\nConsumer group '{group}' has no active members.\n"
    header, *rows = [line.split() for line in out.splitlines() if line]
    assert " ".join(header) == "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    assert rows[-1] == [group, name, "1", "2", "3", "1", "-", "-", "-"]
    described = shell.json("groups", "--describe", "--group", group)
    assert (described[0]["state"], described[0]["totalLag"]) == ("Empty", 1)
    state = shell.json("groups", "--describe", "--group", group, "--state")[0]
    assert (state["state"], state["members"]) == ("Empty", 0)
    dry = shell.json("groups", "--reset-offsets", "--group", group, "--topic", f"{name}:1", "--to-earliest")
    wanted = {"group": group, "topic": name, "partition": 1, "newOffset": 0}
    assert dry == {"executed": False, "offsets": [wanted]}
    assert shell.json("groups", "--describe", "--group", group)[0]["totalLag"] == 1
    reset = shell.out("groups", "--reset-offsets", "--group", group, "--topic", name, "--shift-by", "-1", "--execute")
    assert reset.splitlines()[1].split() == ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]
    assert reset.splitlines()[-1].split() == [group, name, "1", "1"]
    assert shell.json("groups", "--describe", "--group", group)[0]["totalLag"] == 2
    shell.out("groups", "--delete-offsets", "--group", group, "--topic", f"{name}:1")
    assert [p["partition"] for p in shell.json("groups", "--describe", "--group", group)[0]["partitions"]] == [0]
    assert shell.out("groups", "--delete", "--group", group) == (
        f"Deletion of requested consumer groups ('{group}') was successful.\n"
    )
    code, _, err = shell.run("groups", "--describe", "--group", group)
    assert (code, err) == (1, f"\nError: Consumer group '{group}' does not exist.\n")


def test_configs(shell: Shell, name: str) -> None:
    shell.create(name)
    topic = ("--entity-type", "topics", "--entity-name", name)
    assert shell.out("configs", "--describe", *topic) == f"Dynamic configs for topic {name} are:\n"
    added = "cleanup.policy=[compact,delete],retention.ms=5000"
    assert shell.out("configs", "--alter", *topic, "--add-config", added) == (
        f"Completed updating config for topic {name}.\n"
    )
    shell.until(lambda: "retention.ms=5000" in shell.out("configs", "--describe", "--topic", name))
    assert shell.out("configs", "--describe", "--topic", name).splitlines() == [
        f"Dynamic configs for topic {name} are:",
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}",
        "  retention.ms=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000}",
    ]
    shell.out("configs", "--alter", *topic, "--delete-config", "cleanup.policy,retention.ms")
    shell.until(lambda: shell.json("configs", "--describe", *topic)[0]["configs"] == [])
    assert "segment.bytes" in {c["name"] for c in shell.json("configs", "--describe", "--all", *topic)[0]["configs"]}
    code, _, err = shell.run("configs", "--alter", *topic, "--delete-config", "retention.ms")
    assert (code, err) == (0, f"WARN: not set on topic '{name}': retention.ms\n")
    assert shell.run("configs", "--alter", *topic, "--add-config", "retention.ms=soon")[0] == 1


def test_get_offsets(shell: Shell, name: str) -> None:
    shell.create(name, "--partitions", "2")
    shell.produce(name, "a\nb\n", "--partition", "1")
    assert shell.out("get-offsets", "--topic", name) == f"{name}:0:0\n{name}:1:2\n"
    assert shell.out("get-offsets", "--topic", name, "--time", "-2") == f"{name}:0:0\n{name}:1:0\n"
    assert shell.out("get-offsets", "--topic-partitions", f"{name}:1", "--time", "latest") == f"{name}:1:2\n"
    future = shell.json("get-offsets", "--topic", name, "--partitions", "1", "--time", str(2**42))
    assert future == [{"topic": name, "partition": 1, "offset": None, "timestamp": None}]
    assert shell.run("get-offsets", "--topic", name + "-missing")[0] == 1


def test_health(shell: Shell) -> None:
    assert shell.out("health").startswith("healthy: cluster ")
    assert shell.json("health")["healthy"] is True


def test_standard_input_and_interrupt_in_a_process_of_its_own(shell: Shell, name: str) -> None:
    odradek = [sys.executable, "-m", "odradek"]
    environment = {**os.environ, "ODRADEK_BOOTSTRAP_SERVER": shell.bootstrap}
    lines = "".join(f"line {number}\n" for number in range(3000)) + "last, without an end"
    produced = subprocess.run(
        [*odradek, "produce", "--topic", name],
        input=lines,
        text=True,
        env=environment,
        check=False,
        capture_output=True,
    )
    assert (produced.returncode, produced.stderr) == (0, "")
    with subprocess.Popen(
        [*odradek, "consume", "--topic", name, "--from-beginning", "--partition", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as consumer:
        assert consumer.stdout is not None
        assert consumer.stderr is not None
        seen = 0
        while "last, without an end" not in consumer.stdout.readline():
            seen += 1
        consumer.send_signal(signal.SIGINT)
        assert consumer.wait(60) == 130
        assert consumer.stderr.read().rstrip() == f"Processed a total of {seen + 1} messages"
    assert seen == 3000
    with subprocess.Popen(
        [*odradek, "produce", "--topic", name],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as producer:
        assert producer.stdin is not None
        producer.stdin.write(b"one\n")
        producer.stdin.flush()
        ended = shell.out("consume", "--topic", name, "--partition", "0", "--offset", "3001", "--max-messages", "1")
        assert ended == "one\n"
        producer.send_signal(signal.SIGINT)
        assert producer.wait(60) == 130
