"""The findings about share groups and streams groups: severity, meaning, what to do.

Source: Kafka's ShareCoordinatorShard, SharePartition, GroupMetadataManager; KIP-932, KIP-1071.
"""

from .check import Check, Harm, Severity

_RESET = "Stop the group and set its start offset: odradek share-groups --reset-offsets."

SHARE_STREAMS_CHECKS: dict[str, Check] = {
    "share-state-undecodable": Check(
        Severity.ERROR,
        "A record of __share_group_state cannot be decoded: the share coordinator cannot load the partition, and the "
        "groups with state there get no records.",
        "Take this replica away and let the broker fetch it again from another one. Without a replica, delete the "
        "groups named, and create them again with the start offsets of the table shares.",
    ),
    "share-state-beyond-log": Check(
        Severity.ERROR,
        "The state of a share group reaches beyond the end of the log: the log lost its tail. New records at the "
        "offsets that it has acknowledged or archived are not delivered to the group.",
        _RESET,
    ),
    "share-start-before-log-start": Check(
        Severity.WARNING,
        "Records after the start offset of a share group were deleted before the group was done with them.",
        "Raise retention, or add members to the group.",
    ),
    "share-state-missing": Check(
        Severity.ERROR,
        "A share group has noted that a partition is initialized, but __share_group_state has no state of it: members "
        "get no records from the partition (INVALID_REQUEST).",
        _RESET,
    ),
    "share-state-orphaned": Check(
        Severity.WARNING,
        "There is state of a share group that does not exist. A new group of that name cannot be initialized until "
        "its epoch is greater than that of the state (FENCED_STATE_EPOCH).",
        "Nothing if the name is not needed. Otherwise choose another group.id.",
        Harm.LATER,
    ),
    "share-state-in-wrong-partition": Check(
        Severity.ERROR,
        "The state of a share partition is in another partition of __share_group_state than its name requires: the "
        "number of the topic's partitions was changed, or directories were mixed up. No coordinator reads it.",
        "Never change the partitions of __share_group_state; reset the group's offsets.",
    ),
    "share-state-unfinished": Check(
        Severity.WARNING,
        "A share group has waited for more than 10 minutes for the state of a topic to be made or deleted. Until it is "
        "made, members get no records of the topic.",
        "Check the leader of the partitions of __share_group_state, and the group coordinator's log for errors.",
    ),
    "share-topic-missing": Check(
        Severity.INFO,
        "A share group has state of a topic that no longer exists. A new topic of that name has another id, and begins "
        "anew.",
        "Nothing: it only takes space.",
        Harm.LATER,
    ),
    "share-records-archived": Check(
        Severity.INFO,
        "A share group has archived records: members rejected them, or they were delivered as often as allowed. "
        "Offsets of transaction markers count, too.",
        "Look at the records and at the application; errors.deadletterqueue.topic.name keeps such records.",
    ),
    "streams-source-missing": Check(
        Severity.WARNING,
        "The topology of a streams group reads topics that do not exist: its members get no tasks.",
        "Create the topics, or delete the group if it is not needed.",
    ),
    "streams-internal-topic-missing": Check(
        Severity.WARNING,
        "A repartition or changelog topic of a streams group does not exist: it was deleted, or could not be created. "
        "Members get no tasks until it exists. Without its changelog topic a new instance begins with an empty store.",
        "Check that the application may create topics; restore the topic from a backup before its members start.",
    ),
    "streams-topics-not-copartitioned": Check(
        Severity.WARNING,
        "Topics that a streams group joins have different numbers of partitions: its members get no tasks.",
        "Give the topics equal numbers of partitions, and the application new ones if records have keys.",
    ),
    "group-members-behind": Check(
        Severity.WARNING,
        "Members of a group have been behind the group's epoch for more than 10 minutes: they do not give up what "
        "they should, or do not heartbeat, and others wait for it.",
        "Restart the members named; check that they call poll within max.poll.interval.ms.",
    ),
}
"""Every check of share groups and streams groups by the name of its findings."""
