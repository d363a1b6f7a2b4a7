"""The findings about groups and committed offsets: severity, meaning, what to do.

Source: Kafka's GroupCoordinatorRecordSerde, OffsetMetadataManager, GroupMetadataManager; Burrow's evaluation.
"""

from .check import Check, Severity

_RESTORE = (
    "Take this replica away and let the broker fetch it again from another one. Without a replica, the group's "
    "members commit again when they return."
)
_RESET = "Stop the group and set its offset: odradek groups --reset-offsets."
_DELETE = "Delete the offsets (odradek groups --delete-offsets), or let them expire with the group."

GROUP_CHECKS: dict[str, Check] = {
    "group-record-undecodable": Check(
        Severity.ERROR,
        "A record of __consumer_offsets cannot be decoded: the coordinator cannot load its group.",
        _RESTORE,
    ),
    "group-record-type-unknown": Check(
        Severity.INFO,
        "Records of __consumer_offsets or __share_group_state have an unknown key type, of a newer Kafka. The audit "
        "counts them, and a coordinator that does not know them ignores them.",
        "Nothing; before a downgrade, let the newer Kafka delete the groups that need them.",
    ),
    "group-record-version-unknown": Check(
        Severity.WARNING,
        "Records of __consumer_offsets have values of an unknown version, of a newer Kafka. A Kafka that does not know "
        "the version cannot load the partition.",
        "Keep brokers at the newer version, or reset the groups named before a downgrade.",
    ),
    "committed-offset-beyond-log": Check(
        Severity.ERROR,
        "A group has committed an offset after the end of the log, so its lag is below zero: the log lost its tail. "
        "Consumers will be reset (auto.offset.reset), or will miss the new records up to that offset.",
        _RESET,
    ),
    "committed-offset-before-log-start": Check(
        Severity.WARNING,
        "Records after a group's committed offset were deleted before the group read them.",
        "Raise retention, or reset the group's offset.",
    ),
    "committed-offset-truncated": Check(
        Severity.WARNING,
        "A group has committed an offset after the end of its leader epoch: the log was truncated there and written "
        "again, so offsets that the group has read now have other records (KIP-320).",
        "Reset the group to the end of the epoch, and find out why there was an unclean leader election.",
    ),
    "commit-to-missing-topic": Check(
        Severity.INFO, "A group has committed offsets for a topic that no longer exists.", _DELETE
    ),
    "commit-to-missing-partition": Check(
        Severity.WARNING,
        "A group has committed an offset for a partition that its topic does not have: the topic was created "
        "again with fewer partitions, or a client chooses partitions itself.",
        _DELETE,
    ),
    "commit-to-recreated-topic": Check(
        Severity.WARNING,
        "A group's committed offset belongs to a topic that was deleted and created again. Consumers would begin in "
        "the "
        "middle of the new topic.",
        _RESET,
    ),
    "commit-in-the-future": Check(
        Severity.WARNING,
        "A commit's timestamp is more than an hour ahead: a broker's clock was wrong, and the offset expires too late.",
        "Correct the clock and let the group commit again.",
    ),
    "group-offset-expires-soon": Check(
        Severity.WARNING,
        "A group has no members, and its offset expires within a seventh of offsets.retention.minutes. Then its "
        "consumers begin at the position of auto.offset.reset.",
        "Start the group, or raise offsets.retention.minutes; nothing if it is not needed.",
    ),
    "group-offset-overdue": Check(
        Severity.WARNING,
        "An offset should have expired more than an hour ago and is still there: no coordinator has loaded this "
        "partition of the offsets topic, or offsets.retention.minutes is longer than the 7 days assumed here.",
        "Check the leader of that partition of __consumer_offsets, and its log for errors while it loads.",
    ),
    "committed-offset-rewound": Check(
        Severity.INFO,
        "A group's committed offset decreased and has not reached its old value again: a reset, or two consumers that "
        "commit the same partition.",
        "Nothing if you reset it; otherwise look for a second application with the same group.id.",
    ),
    "stopped-consumer-lag-growing": Check(
        Severity.WARNING,
        "A stopped consumer has committed nothing since the last audit with this `--state`, and is further behind.",
        "Restart the consumers, before retention deletes the records that they have not read.",
    ),
    "consumer-stopped": Check(
        Severity.WARNING,
        "A consumer has stopped committing although there are records to read (Burrow's STOP).",
        "Check that the application runs, and that it does not hang at a record.",
    ),
    "consumer-stalled": Check(
        Severity.WARNING,
        "A consumer repeatedly commits the same offset although there are records to read (Burrow's STALL).",
        "Check the application: it may hang at a record that it cannot process.",
    ),
    "consumer-falling-behind": Check(
        Severity.WARNING,
        "A consumer advances, but its lag did not decrease over its last commits (Burrow's WARN).",
        "Add consumers up to the number of partitions, or make them faster.",
    ),
    "offset-commit-transaction-hanging": Check(
        Severity.ERROR,
        "A transaction that commits offsets has been open for more than 15 minutes, the greatest timeout that brokers "
        "allow: its group's offsets are unstable, and its consumers wait (UNSTABLE_OFFSET_COMMIT).",
        "Find it with kafka-transactions.sh find-hanging and end it with kafka-transactions.sh abort.",
    ),
    "group-in-wrong-partition": Check(
        Severity.ERROR,
        "A group is in another partition of __consumer_offsets than its id requires: the number of the topic's "
        "partitions was changed, or directories were mixed up.",
        "Never change the partitions of __consumer_offsets; reset the group's offsets.",
    ),
    "group-member-orphaned": Check(
        Severity.WARNING,
        "There are records of a group's members, but none of the group itself.",
        "Nothing if the group works; otherwise delete it while its consumers are stopped.",
    ),
    "offset-commits-too-frequent": Check(
        Severity.WARNING,
        "A group commits one partition more than once a second, at least a thousand times: commits are most of the "
        "work, and the offsets topic grows faster than necessary.",
        "Commit by time (auto.commit.interval.ms) or after many records, not after each.",
    ),
    "offsets-topic-growth": Check(
        Severity.WARNING,
        "One group has written most of the uncleaned part of a partition of __consumer_offsets.",
        "Commit less often and with less metadata; check that the cleaner runs (log.cleaner.enable, dead threads).",
    ),
}
"""Every check of groups by the name of its findings."""
