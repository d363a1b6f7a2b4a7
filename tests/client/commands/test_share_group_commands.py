"""``odradek share-groups`` and ``odradek consume --share``, against our broker and a real Kafka."""

import json
from pathlib import Path

import pytest

from ..command_shell import Shell

RECORDS = "a\nb\nc\nd\n"
QUIET_MS = "500"


@pytest.fixture
def group(shell: Shell, name: str) -> str:
    """A topic with four records in its first partition, and a share group that has not read them, both of one name."""
    shell.create(name, "--partitions", "2")
    shell.produce(name, RECORDS, "--partition", "0")
    shell.out("share-groups", "--reset-offsets", "--group", name, "--topic", name, "--to-earliest", "--execute")
    shell.until(lambda: starts(shell, name) == {0: 0, 1: 0})
    return name


def starts(shell: Shell, group: str) -> dict[int, int | None]:
    """Partition -> start offset."""
    (document,) = shell.json("share-groups", "--describe", "--group", group)
    return {partition["partition"]: partition["startOffset"] for partition in document["partitions"]}


def test_offsets_members_and_state(shell: Shell, group: str) -> None:
    listed = shell.json("share-groups", "--list")
    assert {"group": group, "state": "Empty"} in listed
    assert group in shell.out("share-groups", "--list").splitlines()
    assert group in shell.out("share-groups", "--list", "--state", "empty")
    assert group not in shell.out("share-groups", "--list", "--state", "Stable")
    table = shell.out("share-groups", "--describe", "--group", group, "--verbose").split("\n")
    assert table[1].split() == ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG"]
    assert table[2].split() == [group, group, "0", "0", "0", "4"]
    (state,) = shell.json("share-groups", "--describe", "--group", group, "--state")
    assert (state["state"], state["members"], state["coordinator"]["address"]) == ("Empty", 0, shell.bootstrap)
    code, out, err = shell.run("share-groups", "--describe", "--group", group, "--members")
    assert (code, out, err) == (0, "", f"\nShare group '{group}' has no active members.\n")
    (members,) = shell.json("share-groups", "--describe", "--group", group, "--members")
    assert members == {"group": group, "state": "Empty", "members": []}


def test_records_are_accepted_rejected_and_released(shell: Shell, group: str) -> None:
    def consume(*arguments: str) -> list[tuple[str, int]]:
        printed = shell.out("consume", "--share", "--topic", group, "--group", group, "--json", *arguments)
        documents = [json.loads(line) for line in printed.splitlines()]
        return [(document["value"], document["deliveryCount"]) for document in documents]

    assert consume("--max-messages", "4", "--release") == [("a", 1), ("b", 1), ("c", 1), ("d", 1)]
    assert consume("--max-messages", "1") == [("a", 2)]
    assert [value for value, _ in consume("--max-messages", "1", "--reject")] == ["b"]
    line = ["--formatter-property", "print.delivery=true", "--formatter-property", "print.offset=true"]
    printed = shell.out("consume", "--share", "--topic", group, "--group", group, "--max-messages", "2", *line)
    assert [text.split("\t")[::2] for text in printed.splitlines()] == [["Offset:2", "c"], ["Offset:3", "d"]]
    assert "Delivery:" in printed
    assert consume("--timeout-ms", QUIET_MS) == []


def test_records_that_cannot_be_printed_are_rejected_on_request(shell: Shell, group: str) -> None:
    read = ["--share", "--topic", group, "--group", group, "--value-deserializer", "LongDeserializer"]
    code, out, err = shell.run("consume", *read, "--max-messages", "4")
    assert (code, out) == (1, "")
    assert "--reject-message-on-error rejects such records" in err
    code, out, err = shell.run("consume", *read, "--max-messages", "4", "--reject-message-on-error")
    assert (code, out, err.count("rejecting this message")) == (0, "", 4)
    code, _, err = shell.run("consume", *read, "--timeout-ms", QUIET_MS)
    assert (code, err) == (0, "Processed a total of 0 messages\n")


def test_offsets_are_reset(shell: Shell, group: str, tmp_path: Path) -> None:
    def reset(*arguments: str) -> str:
        return shell.out("share-groups", "--reset-offsets", "--group", group, *arguments)

    topic = ["--topic", f"{group}:0"]
    assert reset(*topic, "--to-offset", "3", "--dry-run").split()[4:] == [group, group, "0", "3"]
    assert starts(shell, group)[0] == 0
    exported = reset("--all-topics", "--to-latest", "--export", "--dry-run")
    assert exported == f"{group},0,4\n{group},1,0\n" or '"' in exported
    (tmp_path / "offsets.csv").write_text(exported.replace(",4", ",2"))
    reset("--from-file", str(tmp_path / "offsets.csv"), "--execute")
    shell.until(lambda: starts(shell, group) == {0: 2, 1: 0})
    assert reset(*topic, "--to-current", "--export", "--dry-run").endswith(",0,2\n")
    assert reset(*topic, "--to-datetime", "2001-01-01T00:00:00.000", "--export", "--dry-run").endswith(",0,0\n")
    executed = shell.json("share-groups", "--reset-offsets", "--group", group, *topic, "--to-offset", "99", "--execute")
    assert executed["offsets"] == [{"group": group, "topic": group, "partition": 0, "newOffset": 4}]
    shell.until(lambda: starts(shell, group)[0] == 4)


def test_offsets_and_groups_are_deleted(shell: Shell, group: str) -> None:
    code, out, _ = shell.run("share-groups", "--delete-offsets", "--group", group, "--topic", group, "--topic", "a")
    assert (code, [line.split(maxsplit=1)[0] for line in out.splitlines()[1:]]) == (1, ["TOPIC", "a", group])
    shell.until(lambda: not starts(shell, group))
    assert "has no offset information" in shell.out("share-groups", "--describe", "--group", group)
    code, _, err = shell.run("share-groups", "--delete", "--group", group, "--group", "never-was")
    assert (code, f"Group '{group}'" in err, "Group 'never-was' is not a share group" in err) == (1, False, True)
    code, _, err = shell.run("share-groups", "--describe", "--group", group)
    assert (code, err) == (1, f"\nError: Share group '{group}' does not exist.\n")
    code, _, err = shell.run("share-groups", "--delete-offsets", "--group", group, "--topic", group)
    assert (code, err.startswith("\nError: ")) == (1, True)


@pytest.mark.parametrize(
    "line",
    [
        "share-groups",
        "share-groups --list --describe --group g",
        "share-groups --list --group g",
        "share-groups --list --state Assigning",
        "share-groups --list --verbose",
        "share-groups --describe",
        "share-groups --describe --group g --topic t",
        "share-groups --describe --group g --members --offsets",
        "share-groups --describe --group g --state Empty",
        "share-groups --delete --group g --all-groups",
        "share-groups --delete --group g --topic t",
        "share-groups --delete-offsets --group g",
        "share-groups --delete-offsets --group g --group h --topic t",
        "share-groups --reset-offsets --group g --topic t --to-latest",
        "share-groups --reset-offsets --group g --topic t --to-latest --dry-run --execute",
        "share-groups --reset-offsets --group g --to-latest --dry-run",
        "share-groups --reset-offsets --group g --topic t --all-topics --to-latest --dry-run",
        "share-groups --reset-offsets --group g --topic t --to-latest --to-earliest --dry-run",
        "share-groups --reset-offsets --group g --topic t --dry-run",
        "share-groups --reset-offsets --group g --group h --topic t --to-latest --dry-run",
        "share-groups --reset-offsets --group g --topic t --to-latest --dry-run --export --json",
        "consume --share --topic t --from-beginning",
        "consume --share --topic t --reject --release",
        "consume --topic t --reject",
        "consume --share",
    ],
)
def test_wrong_lines_are_refused_before_a_broker_is_asked(line: str, shell: Shell) -> None:
    command, *arguments = line.split()
    assert shell.run(command, *arguments)[0] == 2
