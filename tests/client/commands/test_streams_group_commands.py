"""``odradek streams-groups``, against our broker and a real Kafka."""

from pathlib import Path

import pytest

from odradek.client.admin.streams_group_descriptions import TopologyDescription, TopologyNode
from odradek.client.commands.streams_groups.documents import topology_document
from odradek.client.commands.streams_groups.topology import PROCESSOR, SINK, SOURCE, topology_text
from support.groups.streams_application import StreamsApplication

from ..command_shell import Shell

RECORDS = "a\nb\nc\nd\n"


@pytest.fixture
def application(shell: Shell, name: str) -> StreamsApplication:
    """An application that runs, and reads a topic with four records in the first of two partitions."""
    shell.create(f"{name}-in", "--partitions", "2")
    shell.produce(f"{name}-in", RECORDS, "--partition", "0")
    made = StreamsApplication(shell.bootstrap, name, f"{name}-in")
    made.start()
    return made


@pytest.fixture
def stopped(application: StreamsApplication) -> StreamsApplication:
    """The application after it has read three records and has stopped."""
    application.stop()
    application.commit({0: 3, 1: 0})
    return application


def committed(shell: Shell, application: StreamsApplication) -> dict[int, int]:
    """Partition of the input topic -> committed offset."""
    group, topic = application.group_id, application.topic
    code, out, _ = shell.run("streams-groups", "--reset-offsets", "--group", group, "--all-input-topics",
                             "--to-current", "--dry-run", "--export")  # fmt: skip
    rows = [line.replace('"', "").split(",") for line in out.split()] if code == 0 else []
    assert all(row[0] == topic for row in rows)
    return {int(number): int(offset) for _, number, offset in rows}


def test_lag_members_and_state(shell: Shell, application: StreamsApplication) -> None:
    group, topic = application.group_id, application.topic
    asked = ["streams-groups", "--describe", "--group", group]
    shell.until(lambda: group in shell.out("streams-groups", "--list", "--state", "stable"))
    assert group in shell.out("streams-groups", "--list").splitlines()
    assert group not in shell.out("streams-groups", "--list", "--state", "Empty")
    rows = [line.split() for line in shell.out(*asked).splitlines()[1:]]
    assert rows[:3] == [
        ["GROUP", "TOPIC", "PARTITION", "OFFSET-LAG"],
        [group, topic, "0", "4"],
        [group, topic, "1", "0"],
    ]
    assert [row[1] for row in rows[3:]] == [application.repartition] * 2
    verbose = [line.split() for line in shell.out(*asked, "--verbose").splitlines()[1:]]
    assert verbose[0][3:] == ["CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET", "OFFSET-LAG"]
    assert verbose[1][3:] == ["-", "-", "4", "4"]
    (offsets,) = shell.json(*asked)
    assert (offsets["totalLag"], len(offsets["partitions"])) == (4, 4)

    (member,) = [line.split() for line in shell.out(*asked, "--members").splitlines()[2:]]
    assert [member[0], member[2], *member[4:]] == [group, "process-1", "ACTIVE:", "0:[0,1];", "1:[0,1];"]
    (member,) = [line.split() for line in shell.out(*asked, "--members", "--verbose").splitlines()[2:]]
    assert [member[2], member[4], *member[-3:]] == ["0", "streams", "TARGET-ACTIVE:", "0:[0,1];", "1:[0,1];"]
    (members,) = shell.json(*asked, "--members")
    assert members["members"][0]["tasks"] == {"active": {"0": [0, 1], "1": [0, 1]}, "standby": {}, "warmup": {}}

    state = shell.out(*asked, "--state", "--verbose").splitlines()
    assert state[1].split()[3:] == ["ASSIGNOR", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"]
    assert (state[2].split()[-1], state[2].split()[-4]) == ("1", "Stable")
    (document,) = shell.json(*asked, "--state")
    assert (document["members"], document["coordinator"]["address"]) == (1, shell.bootstrap)


def test_a_group_without_members_has_a_state_only(shell: Shell, stopped: StreamsApplication) -> None:
    group = stopped.group_id
    notice = f"\nStreams group '{group}' has no active members.\n"
    for aspect in ([], ["--members"], ["--verbose"]):
        assert shell.run("streams-groups", "--describe", "--group", group, *aspect) == (0, "", notice)
    code, out, err = shell.run("streams-groups", "--describe", "--group", group, "--state")
    assert (code, out.split()[-2:], err) == (0, ["Empty", "0"], notice)


def test_no_description_of_the_topology_is_stored(shell: Shell, stopped: StreamsApplication) -> None:
    asked = ["streams-groups", "--describe", "--group", stopped.group_id, "--topology"]
    error = f"\nError: No topology description is stored for streams group '{stopped.group_id}'.\n"
    assert shell.run(*asked) == (1, "", error)
    code, out, err = shell.run(*asked, "--json")
    assert (code, '"topology": null' in out, err) == (1, True, error)


TOPOLOGY = TopologyDescription(
    (
        (
            "0",
            (
                TopologyNode("LINES", SOURCE, ("lines", "extra"), None, (), ("MAP",)),
                TopologyNode("MAP", PROCESSOR, (), None, ("b-store", "a-store"), ("SINK-3", "SINK-2")),
                TopologyNode("SINK-2", SINK, (), "counts", (), ()),
                TopologyNode("SINK-3", SINK, (), None, (), ()),
            ),
        ),
    ),
    (
        (
            TopologyNode("GLOBAL-SOURCE", SOURCE, ("table",), None, (), ("GLOBAL",)),
            TopologyNode("GLOBAL", PROCESSOR, (), None, ("all",), ()),
        ),
    ),
)


def test_a_topology_is_printed_as_kafka_prints_it() -> None:
    """The text is that of ``TopologyDescriptionFormatter`` of Kafka 4.4.0 for this topology."""
    assert topology_text(TOPOLOGY) == (
        "Topologies:\n"
        "   Sub-topology: 0\n"
        "    Source: LINES (topics: [extra, lines])\n"
        "      --> MAP\n"
        "    Processor: MAP (stores: [a-store, b-store])\n"
        "      --> SINK-2, SINK-3\n"
        "      <-- LINES\n"
        "    Sink: SINK-2 (topic: counts)\n"
        "      <-- MAP\n"
        "    Sink: SINK-3 (topic: null)\n"
        "      <-- MAP\n"
        "\n"
        "   Sub-topology: 1 for global store (will not generate tasks)\n"
        "    Source: GLOBAL-SOURCE (topics: [table])\n"
        "      --> GLOBAL\n"
        "    Processor: GLOBAL (stores: [all])\n"
        "      --> none\n"
        "      <-- GLOBAL-SOURCE\n"
        "\n"
    )


def test_the_document_of_a_topology() -> None:
    document = topology_document(TOPOLOGY)
    assert [[node["name"] for node in part["nodes"]] for part in document["subtopologies"]] == [
        ["LINES", "MAP", "SINK-2", "SINK-3"]
    ]
    assert document["globalStores"][0]["processor"] == {
        "name": "GLOBAL",
        "kind": "processor",
        "sourceTopics": [],
        "sinkTopic": None,
        "stores": ["all"],
        "successors": [],
    }


def test_offsets_are_reset(shell: Shell, stopped: StreamsApplication, tmp_path: Path) -> None:
    group, topic = stopped.group_id, stopped.topic

    def reset(*arguments: str) -> str:
        return shell.out("streams-groups", "--reset-offsets", "--group", group, *arguments)

    assert reset("--input-topic", f"{topic}:0", "--shift-by", "-2", "--dry-run").split()[4:] == [group, topic, "0", "1"]
    assert committed(shell, stopped) == {0: 3, 1: 0}
    reset("--all-input-topics", "--to-latest", "--execute")
    assert committed(shell, stopped) == {0: 4, 1: 0}
    exported = reset("--all-input-topics", "--to-earliest", "--export", "--dry-run")
    (tmp_path / "offsets.csv").write_text(exported.replace(",0,0", ",0,2"))
    reset("--from-file", str(tmp_path / "offsets.csv"), "--execute")
    assert committed(shell, stopped) == {0: 2, 1: 0}
    document = shell.json("streams-groups", "--reset-offsets", "--group", group, "--input-topic", f"{topic}:0",
                          "--to-offset", "99", "--execute")  # fmt: skip
    assert document["offsets"] == [{"group": group, "topic": topic, "partition": 0, "newOffset": 4}]


def test_internal_topics_are_deleted_on_request(shell: Shell, stopped: StreamsApplication) -> None:
    group = stopped.group_id
    reset = ["streams-groups", "--reset-offsets", "--group", group, "--all-input-topics", "--to-earliest", "--execute"]

    def internal_topics() -> set[str]:
        return {stopped.repartition, stopped.changelog} & set(shell.out("topics", "--list").splitlines())

    code, _, err = shell.run(*reset, "--delete-internal-topic", stopped.topic)
    assert (code, f"{stopped.topic}: not an internal topic of the group; nothing was changed" in err) == (1, True)
    assert committed(shell, stopped) == {0: 3, 1: 0}
    shell.out(*reset)
    assert internal_topics() == {stopped.repartition, stopped.changelog}
    shell.out(*reset, "--delete-internal-topic", stopped.repartition)
    shell.until(lambda: internal_topics() == {stopped.changelog})
    shell.out(*reset, "--delete-all-internal-topics")
    shell.until(lambda: not internal_topics())


def test_a_group_is_deleted_with_its_internal_topics(shell: Shell, stopped: StreamsApplication) -> None:
    group = stopped.group_id
    named = ["--group", group, "--group", "never-was"]
    code, out, err = shell.run("streams-groups", "--delete", *named, "--delete-all-internal-topics", "--json")
    assert (code, "never-was" in err) == (1, False)
    assert f'"{stopped.changelog}"' in out
    assert f'"{stopped.repartition}"' in out
    shell.until(lambda: stopped.changelog not in shell.out("topics", "--list").splitlines())
    assert stopped.topic in shell.out("topics", "--list").splitlines()
    code, out, err = shell.run("streams-groups", "--delete", *named)
    assert (code, out, f"Group '{group}' does not exist or is not a streams group" in err) == (1, "", True)
    code, _, err = shell.run("streams-groups", "--describe", "--group", group)
    assert (code, err) == (1, f"\nError: Streams group '{group}' does not exist.\n")


def test_offsets_are_deleted(shell: Shell, stopped: StreamsApplication) -> None:
    group, topic = stopped.group_id, stopped.topic
    shell.out("streams-groups", "--delete-offsets", "--group", group, "--input-topic", f"{topic}:1")
    assert committed(shell, stopped) == {0: 3}
    (deleted,) = shell.json("streams-groups", "--delete-offsets", "--group", group, "--all-input-topics")
    assert deleted == {"group": group, "topic": topic, "partition": 0, "status": "Successful"}
    code, _, err = shell.run("streams-groups", "--delete-offsets", "--group", group, "--all-input-topics")
    assert (code, "has no committed offsets of its input topics" in err) == (1, True)


def test_a_group_with_members_is_not_changed(shell: Shell, application: StreamsApplication) -> None:
    group, topic = application.group_id, application.topic
    shell.until(lambda: group in shell.out("streams-groups", "--list", "--state", "Stable"))
    reset = ["--reset-offsets", "--group", group, "--input-topic", topic, "--to-earliest", "--execute"]
    code, out, err = shell.run("streams-groups", *reset, "--delete-all-internal-topics")
    assert (code, "is inactive, but the current state is Stable" in err) == (1, True)
    code, out, err = shell.run("streams-groups", "--delete", "--group", group, "--delete-all-internal-topics")
    assert (code, out, f"Streams group '{group}' is not EMPTY" in err) == (1, "", True)
    code, out, err = shell.run("streams-application-reset", "--application-id", group, "--input-topics", topic)
    assert (code, f"Group '{group}' is still active" in err) == (1, True)
    assert {application.repartition, application.changelog} <= set(shell.out("topics", "--list").splitlines())


def test_a_group_of_another_type_is_not_touched(shell: Shell, name: str) -> None:
    shell.create(name)
    shell.out("groups", "--reset-offsets", "--group", name, "--topic", name, "--to-earliest", "--execute")
    named = ["--group", name, "--input-topic", name]
    for action in (["--reset-offsets", "--to-latest", "--execute"], ["--delete-offsets"]):
        code, _, err = shell.run("streams-groups", *action, *named)
        assert (code, f"Streams group '{name}' does not exist" in err) == (1, True)
    code, _, err = shell.run("streams-groups", "--delete", "--group", name)
    assert (code, "is not a streams group" in err) == (1, True)
    (document,) = shell.json("groups", "--describe", "--group", name)
    assert document["partitions"][0]["currentOffset"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list --describe --group g",
        "--list --group g",
        "--list --state Completing",
        "--list --verbose",
        "--list --delete-all-internal-topics",
        "--describe",
        "--describe --group g --input-topic t",
        "--describe --group g --all-input-topics",
        "--describe --group g --members --offsets",
        "--describe --group g --topology --state",
        "--describe --group g --state Empty",
        "--describe --group g --execute",
        "--delete --group g --all-groups",
        "--delete --group g --input-topic t",
        "--delete --group g --delete-internal-topic g-t-changelog",
        "--delete --group g --state",
        "--delete-offsets --group g",
        "--delete-offsets --group g --input-topic t --all-input-topics",
        "--delete-offsets --group g --group h --input-topic t",
        "--delete-offsets --group g --input-topic t --delete-all-internal-topics",
        "--reset-offsets --group g --input-topic t --to-latest",
        "--reset-offsets --group g --input-topic t --to-latest --dry-run --execute",
        "--reset-offsets --group g --to-latest --dry-run",
        "--reset-offsets --group g --input-topic t --all-input-topics --to-latest --dry-run",
        "--reset-offsets --group g --input-topic t --to-latest --to-earliest --dry-run",
        "--reset-offsets --group g --input-topic t --dry-run",
        "--reset-offsets --group g --input-topic t --to-latest --dry-run --export --json",
        "--reset-offsets --group g --input-topic t --to-latest --dry-run --delete-all-internal-topics",
        "--reset-offsets --group g --input-topic t --to-latest --dry-run --delete-internal-topic g-t-changelog",
        "--reset-offsets --group g --all-input-topics --to-latest --execute --delete-all-internal-topics "
        "--delete-internal-topic g-t-changelog",
    ],
)
def test_wrong_lines_are_refused_before_a_broker_is_asked(line: str, shell: Shell) -> None:
    assert shell.run("streams-groups", *line.split())[0] == 2
