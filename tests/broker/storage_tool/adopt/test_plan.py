"""The plan that is made from directories: facts that are read, guessed, reported and refused."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.metadata.image.features import record_version
from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.storage_tool.adopt.found import FoundDirectory, FoundIdentity, FoundPartition
from odradek.broker.storage_tool.adopt.plan import AdoptionPlan, AdoptionRefusedError, AdoptionWishes, plan_adoption
from odradek.broker.storage_tool.adopt.records import adoption_records
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS, encode_record
from odradek.protocol.messages.metadata_records import ConfigRecord, PartitionRecord, ProducerIdsRecord, TopicRecord

OFFSETS = "__consumer_offsets"
ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))
DIRECTORY_ID = b"d" * 16


def identity(**fields: Any) -> FoundIdentity:
    known: dict[str, Any] = {"version": 1, "cluster_id": "cluster", "node_id": 3, "directory_id": DIRECTORY_ID}
    return FoundIdentity(**known | fields)


def partition(topic: str, index: int, path: str = "/d", **fields: Any) -> FoundPartition:
    known: dict[str, Any] = {"topic_id": ID, "leader_epoch": 4}
    return FoundPartition(f"{path}/{topic}-{index}", topic, index, **known | fields)


def directory(*partitions: FoundPartition, **fields: Any) -> FoundDirectory:
    known: dict[str, Any] = {"path": "/d", "identity": identity(), "has_metadata": False, "partitions": partitions}
    return FoundDirectory(**known | fields)


def new_ids() -> Iterator[bytes]:
    return (number.to_bytes(16, "big") for number in count(1000))


def plan(*directories: FoundDirectory, **wishes: Any) -> AdoptionPlan:
    ids = new_ids()
    return plan_adoption(directories, AdoptionWishes(**wishes), lambda: next(ids), bytes.hex, {OFFSETS})


def problems(*directories: FoundDirectory, **wishes: Any) -> list[str]:
    with pytest.raises(AdoptionRefusedError) as refused:
        plan(*directories, **wishes)
    return refused.value.problems


def test_names_ids_epochs_and_directories_are_taken_over() -> None:
    adopted = plan(
        directory(partition("t", 0, leader_epoch=7), partition("t", 1, leader_epoch=-1)),
        directory(partition("t", 2, "/e"), path="/e", identity=identity(directory_id=b"e" * 16)),
    )
    assert (adopted.node_id, adopted.cluster_id, adopted.directory_ids) == (3, "cluster", (DIRECTORY_ID, b"e" * 16))
    [topic] = adopted.topics
    assert (topic.name, topic.topic_id, topic.partition_count, topic.missing) == ("t", ID, 3, [])
    assert [(one.directory, one.leader_epoch) for one in topic.partitions.values()] == [(0, 7), (0, 0), (1, 4)]
    assert not adopted.remarks
    records = adoption_records(adopted, {}, next_producer_id=2000)
    assert [type(record) for record in records] == [
        TopicRecord, ConfigRecord, ConfigRecord, PartitionRecord, PartitionRecord, PartitionRecord, ProducerIdsRecord
    ]  # fmt: skip
    led = [record for record in records if isinstance(record, PartitionRecord)]
    assert [(one.leader, one.leader_epoch, one.last_known_elr, one.directories) for one in led] == [
        (-1, 7, [3], [DIRECTORY_ID]),
        (-1, 0, [3], [DIRECTORY_ID]),
        (-1, 4, [3], [b"e" * 16]),
    ]


@pytest.mark.parametrize("metadata_version", [7, 16, 17, 21, 23, 30])
def test_records_are_those_of_the_release_that_has_formatted_the_directory(metadata_version: int) -> None:
    adopted = plan(directory(partition("t", 1)))
    image = MetadataImage()
    for record in adoption_records(adopted, {}, 0, metadata_version):
        decoded, version = METADATA_RECORDS.decode(encode_record(record, record_version(record, metadata_version)))
        replay(image, decoded, MetadataDelta(), version)
    here, elsewhere = image.topics_by_name["t"].partitions[1], image.topics_by_name["t"].partitions[0]
    assert (here.isr, here.last_known_elr) == (((), (3,)) if metadata_version >= 23 else ((3,), ()))
    assert (here.leader, elsewhere.leader, elsewhere.isr) == (-1, -1, (4,))
    assert (here.directories == (DIRECTORY_ID,)) == (metadata_version >= 17)


def test_what_is_not_written_down_is_new_and_said() -> None:
    adopted = plan(directory(partition("t", 0, topic_id=None), identity=None))
    assert adopted.node_id == 1
    assert len(adopted.cluster_id) == 32
    assert adopted.topics[0].topic_id != ID
    assert adopted.topics[0].partitions[0].lacks_topic_id
    assert len(adopted.remarks) == 2
    assert plan(directory(partition("t", 0), identity=None), node_id=9, cluster_id="mine").node_id == 9


def test_a_topic_id_that_only_committed_offsets_know() -> None:
    found = directory(partition("t", 0, topic_id=None), partition("u", 0))
    ids = {"t": OTHER_ID, "u": OTHER_ID}
    topics = plan_adoption([found], AdoptionWishes(), lambda: bytes(16), bytes.hex, {OFFSETS}, ids).topics
    assert [topic.topic_id for topic in topics] == [OTHER_ID, ID]
    assert topics[0].partitions[0].lacks_topic_id


def test_zookeeper_days() -> None:
    adopted = plan(directory(partition("t", 0), identity=identity(version=0, directory_id=None)))
    assert (adopted.node_id, adopted.cluster_id) == (3, "cluster")
    assert "version 0" in adopted.remarks[0]


def test_a_gap_in_the_numbers_is_a_partition_without_a_leader() -> None:
    adopted = plan(directory(partition("t", 0), partition("t", 2)))
    assert adopted.topics[0].missing == [1]
    assert "partition 1 of 3 is in none" in adopted.remarks[0]
    led = [one for one in adoption_records(adopted, {}, 0) if isinstance(one, PartitionRecord)]
    assert [3 in one.replicas for one in led] == [True, False, True]
    more = plan(directory(partition("t", 0)), partition_counts={"t": 3}).topics[0]
    assert more.missing == [1, 2]


def group_in(index: int, partitions: int) -> str:
    """A group id of this partition, for that number of partitions."""
    return next(name for name in map("group-{}".format, count()) if partition_for(name, partitions) == index)


@pytest.mark.parametrize(
    ("partitions", "lying", "expected"),
    [
        (50, {7: 50, 43: 50}, 50),  # the default number of partitions fits
        (60, {7: 60, 43: 60, 59: 60}, 60),  # the highest existing partition is the last one
        (70, {7: 70, 12: 70, 33: 70, 61: 70}, 70),  # neither fits: the number that fits all groups
        (3, {0: 3, 1: 3, 2: 3}, 3),  # all partitions exist
    ],
)
def test_the_offsets_topic_has_as_many_partitions_as_its_groups_say(
    partitions: int, lying: dict[int, int], expected: int
) -> None:
    found = []
    for index in lying:
        groups = [f"g{number}" for number in range(3000) if partition_for(f"g{number}", partitions) == index]
        found.append(partition(OFFSETS, index, keys=frozenset(groups)))
    [topic] = plan(directory(*found)).topics
    assert topic.partition_count == expected
    assert topic.configs is None
    led = [one for one in adoption_records(plan(directory(*found)), {}, 0) if isinstance(one, PartitionRecord)]
    assert [one.replicas for one in led] == [[3]] * expected, "groups that come later need a coordinator"


def test_the_offsets_topic_is_never_given_another_number() -> None:
    found = directory(partition(OFFSETS, 7, keys=frozenset({group_in(7, 50)})))
    assert plan(found, partition_counts={OFFSETS: 50}).topics[0].partition_count == 50
    assert "do not fit this number" in problems(found, partition_counts={OFFSETS: 49})[0]
    assert "was found" in problems(found, partition_counts={OFFSETS: 7})[0]
    renamed = directory(partition(OFFSETS, 7, keys=frozenset({"a", "b", "c", "d"})))
    assert "fit no number" in problems(renamed)[0]


def test_data_is_kept_for_ever_unless_somebody_says_otherwise() -> None:
    def configs(**wishes: Any) -> dict[str, str]:
        records = adoption_records(plan(directory(partition("t", 0)), **wishes), {}, 0)
        return {record.name: record.value or "" for record in records if isinstance(record, ConfigRecord)}

    assert configs() == {"retention.ms": "-1", "retention.bytes": "-1"}
    told = configs(configs={"t": {"retention.ms": "5", "cleanup.policy": "compact"}})
    assert told == {"retention.ms": "5", "retention.bytes": "-1", "cleanup.policy": "compact"}


def test_internal_topics_get_what_the_broker_gives_them() -> None:
    found = directory(partition(OFFSETS, 0))
    records = adoption_records(plan(found), {OFFSETS: {"cleanup.policy": "compact"}}, 0)
    configs = [(one.name, one.value) for one in records if isinstance(one, ConfigRecord)]
    assert configs == [("cleanup.policy", "compact")]


def test_signs_of_compaction_are_said() -> None:
    gaps = plan(directory(partition("t", 0, has_gaps=True)))
    cleaned = plan(directory(partition("t", 0), cleaned=frozenset({"t", OFFSETS})))
    for adopted in (gaps, cleaned):
        assert [remark for remark in adopted.remarks if "cleanup.policy=compact" in remark]
    told = plan(directory(partition("t", 0, has_gaps=True)), configs={"t": {"cleanup.policy": "compact"}})
    assert not told.remarks


REFUSED = {
    "metadata": ([directory(partition("t", 0), has_metadata=True)], "has its cluster metadata"),
    "twice": (
        [
            directory(partition("t", 0)),
            directory(partition("t", 0, "/e"), path="/e", identity=identity(directory_id=OTHER_ID)),
        ],
        "exists twice, as /d/t-0 and /e/t-0",
    ),
    "nodes": (
        [directory(partition("t", 0)), directory(path="/e", identity=identity(node_id=4, directory_id=OTHER_ID))],
        "the node id differs",
    ),
    "clusters": (
        [directory(partition("t", 0)), directory(path="/e", identity=identity(cluster_id="x", directory_id=OTHER_ID))],
        "the cluster id differs",
    ),
    "copies": ([directory(partition("t", 0)), directory(path="/e")], "the same directory.id"),
    "topics": ([directory(partition("t", 0), partition("t", 1, topic_id=OTHER_ID))], "different topics of that name"),
    "nothing": ([directory()], "no directory of a partition"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    directories, sentence = REFUSED[case]
    assert [problem for problem in problems(*directories) if sentence in problem]


def test_options_that_contradict_the_directories_are_refused() -> None:
    found = directory(partition("t", 0))
    assert "has node id 3, not 5" in problems(found, node_id=5)[0]
    assert "no partition of it was found" in problems(found, configs={"typo": {"retention.ms": "1"}})[0]
    assert plan(directory(partition("t", 0), has_metadata=True), set_metadata_aside=True).remarks


STRAY = FoundPartition("/d/t-1.abc-stray", "t", 1, topic_id=None, leader_epoch=2)


def test_strays_are_named_and_served_where_that_is_wished() -> None:
    found = directory(partition("t", 0), strays=(STRAY,))
    left = plan(found)
    assert list(left.topics[0].partitions) == [0]
    assert [remark for remark in left.remarks if "--adopt-strays serves it as t-1" in remark]
    taken = plan(found, adopt_strays=True)
    assert taken.topics[0].partitions[1].path == STRAY.path
    assert (taken.topics[0].topic_id, taken.topics[0].partitions[1].lacks_topic_id) == (ID, True)
    assert [remark for remark in taken.remarks if "it is served as t-1" in remark]


def test_a_stray_of_what_lies_elsewhere_is_left_alone() -> None:
    adopted = plan(directory(partition("t", 1), strays=(STRAY,)), adopt_strays=True)
    assert adopted.topics[0].partitions[1].path == "/d/t-1"
    assert [remark for remark in adopted.remarks if "because t-1 exists in another directory" in remark]


def test_strays_that_can_not_be_served() -> None:
    other = FoundPartition("/d/t-1.def-stray", "t", 1)
    assert "are both strays of t-1" in problems(directory(strays=(STRAY, other)), adopt_strays=True)[0]
    assert "--adopt-strays serves them" in problems(directory(strays=(STRAY,)))[1]
    cut = FoundPartition("/d/" + "t" * 214 + "-1." + "a" * 32 + "-stray", "t" * 214, 1)
    [said] = [
        remark
        for remark in plan(directory(partition("t", 0), strays=(cut,)), adopt_strays=True).remarks
        if "the topic's name is cut" in remark
    ]
    assert said.startswith(cut.path)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"log_end_offset": 2**62 + 1}, f"/d/t-0: offsets go up to {2**62};"),
        ({"log_end_offset": 2**63}, f"/d/t-0: offsets go up to {2**63 - 1};"),
        ({"leader_epoch": 2**30 + 1}, f"/d/t-0: leader epochs go up to {2**30 + 1};"),
        ({"leader_epoch": 2**31 - 1}, f"/d/t-0: leader epochs go up to {2**31 - 1};"),
    ],
)
def test_a_log_without_room_for_more_is_refused(fields: dict[str, int], said: str) -> None:
    [problem] = problems(directory(partition("t", 0, "/d", **fields)))
    assert problem.startswith(said)


def test_a_log_with_room_for_more_is_adopted() -> None:
    adopted = plan(directory(partition("t", 0, log_end_offset=2**62, leader_epoch=2**30)))
    assert adopted.topics[0].partitions[0].leader_epoch == 2**30
