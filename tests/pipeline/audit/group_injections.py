"""Groups in a GroupsDirectory: a healthy one, and one for every finding about groups.

Each function injects one and returns the place that the audit must report.
"""

import struct
from collections.abc import Callable

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.codec import encode
from odradek.protocol.messages.group_records import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    OffsetCommitKey,
)
from support.kafka.directory import NOW_MS, TOPIC, TOPIC_ID

from ..groups_directory import OFFSETS_PARTITIONS, RECORDS, GroupsDirectory, Written

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def keeps_up(directory: GroupsDirectory, group: str = "readers", members: int = 1) -> None:
    """A consumer that commits the log end offset every five seconds."""
    for step in range(20):
        time = NOW_MS - (19 - step) * 5000
        directory.commit(group, RECORDS - (19 - step) * 5, time, topic_id=TOPIC_ID, leader_epoch=0)
    directory.group(group, members, NOW_MS - 100_000)


def consumer_group(directory: GroupsDirectory, group: str, members: int) -> None:
    """A group of the new protocol (KIP-848)."""
    home = partition_for(group, OFFSETS_PARTITIONS)
    key = struct.pack(">h", 3) + encode(ConsumerGroupMetadataKey(group), 0)
    directory.records(home, [(key, struct.pack(">h", 0) + encode(ConsumerGroupMetadataValue(7), 0))])
    for index in range(members):
        directory.records(home, [member_record(group, f"m{index}")])


def member_record(group: str, member: str) -> tuple[bytes, bytes]:
    key = struct.pack(">h", 5) + encode(ConsumerGroupMemberMetadataKey(group, member), 0)
    value = ConsumerGroupMemberMetadataValue(client_id="c", client_host="/127.0.0.1", rebalance_timeout_ms=1000)
    return key, struct.pack(">h", 0) + encode(value, 0)


Injected = tuple[Written, str]
"""The place of the record that the finding must have, and the finding's text."""


def a_commit_beyond_the_log(directory: GroupsDirectory) -> Injected:
    return directory.commit("ahead", RECORDS + 9, topic_id=TOPIC_ID), "group ahead: offset 609, the log ends at 600"


def a_commit_before_the_log_start(directory: GroupsDirectory) -> Injected:
    directory.first_offset = 100
    return directory.commit("slow", 40), "group slow: offset 40, the log begins at 100"


def a_commit_of_a_lost_epoch(directory: GroupsDirectory) -> Injected:
    directory.data_epochs = [(0, 0), (3, 400)]
    return directory.commit("ahead", 450, leader_epoch=0), "offset 450 of leader epoch 0, which ends at 400"


def a_commit_to_a_deleted_topic(directory: GroupsDirectory) -> Injected:
    return directory.commit("readers", 5, topic="gone"), "group readers: offset 5"


def a_commit_to_a_recreated_topic(directory: GroupsDirectory) -> Injected:
    return directory.commit("readers", 5, topic_id=bytes(range(16))), "the topic now has EBESExQVFhcYGRobHB0eHw"


def a_commit_to_a_missing_partition(directory: GroupsDirectory) -> Injected:
    return directory.commit("readers", 5, partition=7), "the topic has 2 partitions"


def a_commit_of_the_future(directory: GroupsDirectory) -> Injected:
    return directory.commit("readers", RECORDS, NOW_MS + DAY_MS), "group readers: the timestamp is"


def an_undecodable_key(directory: GroupsDirectory) -> Injected:
    return directory.records(1, [(b"\0\1\xff", b"\0\3")]), "the record at offset 0"


def an_undecodable_value(directory: GroupsDirectory) -> Injected:
    key = struct.pack(">h", 1) + encode(OffsetCommitKey("readers", TOPIC, 0), 0)
    return directory.records(partition_for("readers", OFFSETS_PARTITIONS), [(key, b"\0\3\0")]), "the record at offset 0"


def an_unknown_type(directory: GroupsDirectory) -> Injected:
    directory.records(2, [(struct.pack(">h", 99), b"x")] * 3)
    return Written(2, 2), "its key has type 99"  # the finding has the latest of equal keys


def an_unknown_version(directory: GroupsDirectory) -> Injected:
    key = struct.pack(">h", 1) + encode(OffsetCommitKey("readers", TOPIC, 0), 0)
    home = partition_for("readers", OFFSETS_PARTITIONS)
    return directory.records(home, [(key, struct.pack(">h", 77) + b"new")]), "OffsetCommit of version 77"


def an_empty_group_about_to_expire(directory: GroupsDirectory) -> Injected:
    written = directory.commit("old", RECORDS, NOW_MS - 8 * DAY_MS)
    directory.group("old", 0, NOW_MS - 7 * DAY_MS + 10 * MINUTE_MS)
    return written, "group old: it has no members and expires in 10 minutes"


def an_empty_group_that_never_expired(directory: GroupsDirectory) -> Injected:
    written = directory.commit("old", RECORDS, NOW_MS - 9 * DAY_MS)
    directory.group("old", 0, NOW_MS - 8 * DAY_MS)
    return written, "group old: it expired 1440 minutes before"


def a_consumer_that_goes_back(directory: GroupsDirectory) -> Injected:
    directory.group("back", 1)
    directory.commit("back", 500, NOW_MS - 10_000)
    return directory.commit("back", 100, NOW_MS - 5_000), "group back: from offset 500 back to 100"


def commits_every_five_seconds(directory: GroupsDirectory, offsets: list[int], last_ms: int) -> Written:
    directory.group("slow", 1)
    for index, offset in enumerate(offsets):
        written = directory.commit("slow", offset, last_ms - (len(offsets) - 1 - index) * 5000)
    return written


def a_consumer_that_stops(directory: GroupsDirectory) -> Injected:
    last = NOW_MS - 300_000
    return commits_every_five_seconds(directory, [200 + step for step in range(12)], last), "at offset 211, 389 records"


def a_consumer_that_stalls(directory: GroupsDirectory) -> Injected:
    return commits_every_five_seconds(directory, [200] * 12, NOW_MS - 1000), "group slow: at offset 200, 400 records"


def a_consumer_that_falls_behind(directory: GroupsDirectory) -> Injected:
    return commits_every_five_seconds(directory, [200 + step for step in range(12)], NOW_MS - 1000), "group slow: at"


def a_hanging_transaction(directory: GroupsDirectory) -> Injected:
    keeps_up(directory)
    written = directory.commit("eos", 550, NOW_MS - 20 * MINUTE_MS, producer_id=9)
    return written, "group eos: offset 550 by producer 9, open for 20 minutes"


def a_group_in_a_foreign_partition(directory: GroupsDirectory) -> Injected:
    foreign = (partition_for("lost", OFFSETS_PARTITIONS) + 1) % OFFSETS_PARTITIONS
    return directory.group("lost", 1, partition=foreign), "group lost: its coordinator reads partition"


def members_without_a_group(directory: GroupsDirectory) -> Injected:
    home = partition_for("lost", OFFSETS_PARTITIONS)
    return directory.records(home, [member_record("lost", "m")]), "group lost: members, but no record of the group"


def commits_after_every_record(directory: GroupsDirectory) -> Injected:
    for step in range(600):
        directory.commit("eager", step, NOW_MS - (600 - step) * 50, copies=2)
    directory.commit("eager", RECORDS)
    return Written(partition_for("eager", OFFSETS_PARTITIONS), -1), "group eager: 1201 commits of t1-0, 24 ms apart"


def large_metadata(directory: GroupsDirectory) -> Injected:
    for step in range(14):
        directory.commit("large", RECORDS, NOW_MS - (14 - step) * 300_000, metadata="x" * 4000, copies=200)
    return Written(partition_for("large", OFFSETS_PARTITIONS), -1), "100% of the uncleaned part; mostly"


Inject = Callable[[GroupsDirectory], Injected]
INJECTED: list[tuple[str, Inject]] = [
    ("committed-offset-beyond-log", a_commit_beyond_the_log),
    ("committed-offset-before-log-start", a_commit_before_the_log_start),
    ("committed-offset-truncated", a_commit_of_a_lost_epoch),
    ("commit-to-missing-topic", a_commit_to_a_deleted_topic),
    ("commit-to-recreated-topic", a_commit_to_a_recreated_topic),
    ("commit-to-missing-partition", a_commit_to_a_missing_partition),
    ("commit-in-the-future", a_commit_of_the_future),
    ("group-record-undecodable", an_undecodable_key),
    ("group-record-undecodable", an_undecodable_value),
    ("group-record-type-unknown", an_unknown_type),
    ("group-record-version-unknown", an_unknown_version),
    ("group-offset-expires-soon", an_empty_group_about_to_expire),
    ("group-offset-overdue", an_empty_group_that_never_expired),
    ("committed-offset-rewound", a_consumer_that_goes_back),
    ("consumer-stopped", a_consumer_that_stops),
    ("consumer-stalled", a_consumer_that_stalls),
    ("consumer-falling-behind", a_consumer_that_falls_behind),
    ("offset-commit-transaction-hanging", a_hanging_transaction),
    ("group-in-wrong-partition", a_group_in_a_foreign_partition),
    ("group-member-orphaned", members_without_a_group),
    ("offset-commits-too-frequent", commits_after_every_record),
    ("offsets-topic-growth", large_metadata),
]
