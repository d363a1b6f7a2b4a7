"""What an audit can find about groups and committed offsets: severity, meaning, what to do.

Source: Kafka's GroupCoordinatorRecordSerde, OffsetMetadataManager.
"""

from .check import Check, Severity

_RESTORE = (
    "Take this replica away and let the broker fetch it anew from another one; without a replica, the group's members "
    "commit again when they come back."
)

GROUP_CHECKS: dict[str, Check] = {
    "group-record-undecodable": Check(
        Severity.ERROR,
        "A record of __consumer_offsets can't be decoded: its group can't be loaded by the coordinator.",
        _RESTORE,
    ),
    "group-record-type-unknown": Check(
        Severity.INFO,
        "A record of __consumer_offsets is of a type that this version does not know; it was not counted.",
        "Nothing.",
    ),
    "committed-offset-beyond-log": Check(
        Severity.ERROR,
        "A group has committed an offset behind the end of the log: its consumers will be reset (auto.offset.reset).",
        "Reset the group's offset on purpose: odradek groups --reset-offsets.",
    ),
    "committed-offset-before-log-start": Check(
        Severity.WARNING,
        "Records behind a group's committed offset were deleted before the group read them.",
        "Raise retention, or reset the group's offset on purpose.",
    ),
    "commit-to-missing-topic": Check(
        Severity.INFO,
        "A group has committed offsets for a topic that does not exist any more.",
        "Nothing: they expire with the group.",
    ),
}
"""Every check of groups by the name of its findings."""
