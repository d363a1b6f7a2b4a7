"""What an audit can find about groups and committed offsets: severity, meaning, what to do.

Source: Kafka's GroupCoordinatorRecordSerde, OffsetMetadataManager, GroupMetadataManager; Burrow's evaluation.
"""

from .check import Check, Severity

_RESTORE = (
    "Take this replica away and let the broker fetch it anew from another one; without a replica, the group's members "
    "commit again when they come back."
)
_RESET = "Stop the group and reset its offset on purpose: odradek groups --reset-offsets."
_DELETE = "Delete the offsets (odradek groups --delete-offsets), or let them expire with the group."

GROUP_CHECKS: dict[str, Check] = {
    "group-record-undecodable": Check(
        Severity.ERROR,
        "A record of __consumer_offsets can't be decoded: its group can't be loaded by the coordinator.",
        _RESTORE,
    ),
    "group-record-type-unknown": Check(
        Severity.INFO,
        "Records of __consumer_offsets have a key of a type that this version does not know: a newer Kafka's. They are "
        "counted, and a coordinator that does not know them passes over them.",
        "Nothing; before a downgrade, let the newer Kafka delete the groups that need them.",
    ),
    "group-record-version-unknown": Check(
        Severity.WARNING,
        "Records of __consumer_offsets have values of a version that is not known: a newer Kafka's, and a Kafka that "
        "does not know it can't load the partition.",
        "Keep brokers at the newer version, or reset the groups named before a downgrade.",
    ),
    "committed-offset-beyond-log": Check(
        Severity.ERROR,
        "A group has committed an offset behind the end of the log, so its lag is below zero: the log lost its tail, "
        "and consumers will be reset (auto.offset.reset) or miss what comes up to there.",
        _RESET,
    ),
    "committed-offset-before-log-start": Check(
        Severity.WARNING,
        "Records behind a group's committed offset were deleted before the group read them.",
        "Raise retention, or reset the group's offset on purpose.",
    ),
    "committed-offset-truncated": Check(
        Severity.WARNING,
        "A group has committed an offset of a leader epoch that ends before it: the log was truncated there and filled "
        "again, so other records lie at offsets that the group believes it has read (KIP-320).",
        "Reset the group to where the epoch ends, and ask why the leader was elected uncleanly.",
    ),
    "commit-to-missing-topic": Check(
        Severity.INFO, "A group has committed offsets for a topic that does not exist any more.", _DELETE
    ),
    "commit-to-missing-partition": Check(
        Severity.WARNING,
        "A group has committed an offset for a partition that its topic does not have: the topic was made anew with "
        "fewer, or a client commits by hand.",
        _DELETE,
    ),
    "commit-to-recreated-topic": Check(
        Severity.WARNING,
        "A group's committed offset belongs to a topic that was deleted; the topic of that name now is another one, "
        "and consumers would begin in the middle of it.",
        _RESET,
    ),
    "commit-in-the-future": Check(
        Severity.WARNING,
        "A commit's time lies more than an hour ahead: a broker's clock was wrong, and the offset outlives retention.",
        "Set the clock right and let the group commit again.",
    ),
    "group-offset-expires-soon": Check(
        Severity.WARNING,
        "A group has no members, and its offset expires within a seventh of offsets.retention.minutes: then its "
        "consumers begin where auto.offset.reset says.",
        "Start the group, or raise offsets.retention.minutes; nothing if nobody needs it any more.",
    ),
    "group-offset-overdue": Check(
        Severity.WARNING,
        "An offset should have expired more than an hour ago and is still there: no coordinator has loaded this "
        "partition of the offsets topic, or offsets.retention.minutes is longer than the 7 days assumed here.",
        "Look at the leader of that partition of __consumer_offsets, and at its log for errors while it loads.",
    ),
    "committed-offset-rewound": Check(
        Severity.INFO,
        "A group's committed offset went back and has not come forward again: a reset, or two consumers that commit "
        "the same partition.",
        "Nothing after a reset on purpose; else look for a second application with the same group.id.",
    ),
    "consumer-stopped": Check(
        Severity.WARNING,
        "A consumer commits no more although there are records to read (Burrow's STOP).",
        "Look whether the application runs, and whether it is stuck on a record.",
    ),
    "consumer-stalled": Check(
        Severity.WARNING,
        "A consumer commits the same offset again and again although there are records to read (Burrow's STALL).",
        "Look at the application: a record that it can't process holds it.",
    ),
    "consumer-falling-behind": Check(
        Severity.WARNING,
        "A consumer advances, but its lag has not become less over its last commits (Burrow's WARN).",
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
        "A group lies in a partition of __consumer_offsets where its coordinator does not look: the number of the "
        "topic's partitions was changed, or directories were mixed up.",
        "Never change the partitions of __consumer_offsets; reset the group where it belongs.",
    ),
    "group-member-orphaned": Check(
        Severity.WARNING,
        "There are records of a group's members without one of the group itself.",
        "Nothing if the group works; else delete it while its consumers are stopped.",
    ),
    "offset-commits-too-frequent": Check(
        Severity.WARNING,
        "A group commits one partition more than once a second, a thousand times and more: commits are most of the "
        "work, and the offsets topic grows faster than it need.",
        "Commit by time (auto.commit.interval.ms) or after many records, not after each.",
    ),
    "offsets-topic-growth": Check(
        Severity.WARNING,
        "One group has written most of what waits for the cleaner in a partition of __consumer_offsets.",
        "Commit less often and with less metadata; look whether the cleaner runs (log.cleaner.enable, dead threads).",
    ),
}
"""Every check of groups by the name of its findings."""
