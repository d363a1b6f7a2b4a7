"""The findings about checkpoints, metadata, retention, leftover files and replicas: severity, meaning, what to do.

Source: Kafka's LogManager, LogLoader, LogCleanerManager, ReplicaFetcherThread.
"""

from .check import Check, Harm, Severity

DIRECTORY_CHECKS: dict[str, Check] = {
    "checkpoint-beyond-log": Check(
        Severity.ERROR,
        "A checkpoint has an offset after the log's end: the log lost its tail after the checkpoint was written.",
        "Compare with other replicas; keep a copy of the checkpoint and delete the line while the broker is stopped.",
    ),
    "log-start-beyond-log": Check(
        Severity.ERROR,
        "The log start offset in the checkpoint is after the log's end: Kafka deletes all segments at its next start.",
        "Before the next start: keep a copy of log-start-offset-checkpoint and delete the line; find out why the log "
        "lost its end.",
        Harm.NEXT_START,
    ),
    "checkpoint-unreadable": Check(
        Severity.ERROR,
        "A checkpoint file, partition.metadata or meta.properties cannot be parsed: Kafka does not start on this log "
        "directory, or takes it offline if it has others. Odradek uses 0 for the offsets of a checkpoint.",
        "Move the file away, and keep it, while the broker is stopped: the broker writes it again. Restore "
        "meta.properties from a copy.",
        Harm.NO_START,
    ),
    "topic-id-mismatch": Check(
        Severity.ERROR,
        "partition.metadata has another topic id than the metadata: the directory belongs to a deleted topic.",
        "Move the directory away while the broker is stopped.",
    ),
    "closed-segment-changed": Check(
        Severity.WARNING,
        "A closed segment has other bytes than at the last audit with this `--state`, although Kafka changes none: its "
        "topic is not compacted, and no later leader epoch explains it. Reported once.",
        "Compare the segment with other replicas, and look at what else writes to the volume.",
    ),
    "leader-epoch-checkpoint-invalid": Check(
        Severity.ERROR,
        "Epochs in leader-epoch-checkpoint do not rise: followers may truncate wrongly.",
        "Move leader-epoch-checkpoint away while the broker is stopped and restart it without .kafka_cleanshutdown.",
        Harm.LATER,
    ),
    "first-segments-missing": Check(
        Severity.ERROR,
        "The log begins after its first leader epoch. Retention and DeleteRecords move both, so the first segments "
        "were lost: consumers get no record of them, and the next start of Kafka hides the loss.",
        "Before the next start: restore the segments from another replica or a backup.",
        Harm.NEXT_START,
    ),
    "swap-loses-records": Check(
        Severity.ERROR,
        "A .swap file lacks records of the segments that it replaces. The next start of Kafka deletes these segments "
        "and puts the file in their place.",
        "Before the next start: move the .swap files of this partition away; the segments are complete without them.",
        Harm.NEXT_START,
    ),
    "directory-name-invalid": Check(
        Severity.ERROR,
        "A directory in the log directory is not named as a partition, or is a second one of a partition: Kafka does "
        "not start.",
        "Move the directory away (lost+found: use a subdirectory of the volume as log directory).",
        Harm.NO_START,
    ),
    "file-name-invalid": Check(
        Severity.ERROR,
        "A file of a partition is named as a segment, an index, a snapshot or a .cleaned or .swap file, but without an "
        "offset: Kafka does not start.",
        "Find out what the file was, and move it out of the directory of the partition.",
        Harm.NO_START,
    ),
    "quorum-state-unreadable": Check(
        Severity.ERROR,
        "The file quorum-state of the metadata log cannot be parsed: Kafka does not start.",
        "Restore the file from a backup. Without one, and if other controllers have the log, move __cluster_metadata-0 "
        "of this node away.",
        Harm.NO_START,
    ),
    "leader-epoch-beyond-log": Check(
        Severity.WARNING,
        "leader-epoch-checkpoint has an epoch that begins after the log's end: the log lost its tail.",
        "Compare with other replicas; the broker drops the entry when it starts.",
        Harm.LATER,
    ),
    "partition-never-cleaned": Check(
        Severity.WARNING,
        "A compacted partition has been above its dirty ratio for a day, and the cleaner never completed it.",
        "Look for errors of the log cleaner in the broker's log; log.cleaner.enable must be true.",
        Harm.LATER,
    ),
    "compaction-overdue": Check(
        Severity.WARNING,
        "A compacted partition has waited for the cleaner for more than a day, or longer than max.compaction.lag.ms.",
        "Look for errors of the log cleaner in the broker's log (uncleanable partitions), and check "
        "its threads and buffer.",
        Harm.LATER,
    ),
    "retention-overdue": Check(
        Severity.WARNING,
        "A segment is beyond retention.ms or retention.bytes and still exists.",
        "Look for errors in the broker's log; a stopped broker deletes segments when it starts.",
        Harm.LATER,
    ),
    "segments-below-log-start": Check(
        Severity.INFO,
        "Segments are completely below the log start offset; the next retention check deletes them.",
        "Nothing.",
        Harm.LATER,
    ),
    "high-watermark-below-log-start": Check(
        Severity.WARNING,
        "The high watermark in the checkpoint is below the log start offset: the checkpoint is older than the log.",
        "Nothing if other replicas are in sync: the broker corrects it when it starts.",
        Harm.LATER,
    ),
    "cleaner-checkpoint-below-log-start": Check(
        Severity.INFO,
        "The cleaner's checkpoint is below the log start offset: retention or DeleteRecords passed it.",
        "Nothing: the next round begins at the log's start.",
        Harm.LATER,
    ),
    "partition-metadata-missing": Check(
        Severity.WARNING,
        "A partition's directory has no partition.metadata, so it may also belong to a deleted topic of that name.",
        "Nothing: the broker writes it when it starts.",
        Harm.LATER,
    ),
    "partition-not-in-metadata": Check(
        Severity.WARNING,
        "The metadata does not know this partition: its topic was deleted, or it comes from another cluster.",
        "Nothing: the broker renames it to -stray when it starts. If the topic should exist, restore metadata first.",
    ),
    "partition-assigned-elsewhere": Check(
        Severity.WARNING,
        "The metadata assigns this partition to another broker or log directory.",
        "Move it away once the assigned replicas are in sync.",
    ),
    "partition-missing": Check(
        Severity.ERROR,
        "The metadata assigns a partition to this directory, and it does not exist: its records here are lost.",
        "Nothing if there are other replicas: the broker creates and fetches it. Otherwise restore a backup.",
    ),
    "metadata-log-damaged": Check(
        Severity.ERROR,
        "The metadata log or its snapshot is damaged, or lost its end: the broker does not start, or lacks changes. "
        "The audit does not check which partitions belong here.",
        "If other controllers have the log, move __cluster_metadata-0 of this broker away. Otherwise restore a backup.",
        Harm.NO_START,
    ),
    "leftover-deleted": Check(
        Severity.INFO,
        "A deleted segment's file; it is removed after file.delete.delay.ms or at the next start.",
        "Nothing.",
        Harm.LATER,
    ),
    "leftover-cleaned": Check(
        Severity.INFO,
        "The cleaner was stopped while it wrote this file; the next start removes it.",
        "Nothing.",
        Harm.LATER,
    ),
    "leftover-swap": Check(
        Severity.INFO,
        "The cleaner was stopped while it renamed this file; the next start completes that.",
        "Start the broker before you copy single files of this directory.",
        Harm.LATER,
    ),
    "leftover-delete-directory": Check(
        Severity.INFO,
        "The directory of a deleted partition; it is removed after file.delete.delay.ms or at the next start.",
        "Nothing.",
        Harm.LATER,
    ),
    "leftover-future-directory": Check(
        Severity.INFO,
        "A replica that moves to this directory (AlterReplicaLogDirs).",
        "Nothing.",
        Harm.LATER,
    ),
    "leftover-stray-directory": Check(
        Severity.WARNING,
        "A partition that a broker found here and the metadata did not know; it is kept and takes space.",
        "Look into it, and delete it if you do not need it.",
        Harm.LATER,
    ),
    "index-without-log": Check(
        Severity.WARNING,
        "An index without its segment: files were deleted or copied by hand.",
        "Restore the segment if there is a copy; the broker deletes the index when it starts.",
    ),
    "partition-skew": Check(
        Severity.INFO,
        "A partition is more than three times as large as the topic's typical partition.",
        "Check the keys and the producers' partitioner.",
        Harm.LATER,
    ),
    "replicas-diverge": Check(
        Severity.ERROR,
        "Two replicas have different batches below the high watermark: one lost or changed committed records.",
        "Keep both directories. Find out which one consumers have read, and let the broker fetch the other one again.",
    ),
    "replica-tail-differs": Check(
        Severity.INFO,
        "Two replicas differ above the high watermark: the follower truncates its log there when it fetches again.",
        "Nothing.",
        Harm.LATER,
    ),
    "replica-behind": Check(
        Severity.INFO,
        "A replica is shorter than another one.",
        "Nothing while the follower fetches; otherwise find out why it is out of sync.",
        Harm.LATER,
    ),
    "replica-keys-missing": Check(
        Severity.ERROR,
        "A key in one replica of a compacted partition is missing from the cleaned part and the rest of the other. "
        "It was "
        "lost there, or it was deleted or aborted and cleaned there while the first replica was away.",
        "Keep both directories. Find out which one is right, and let the broker fetch the other one again.",
    ),
}
"""The checks of checkpoints, metadata, retention, leftover files and replicas, by the name of their findings."""
