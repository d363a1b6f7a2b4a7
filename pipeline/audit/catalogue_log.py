"""The findings about logs, indexes, checkpoints and metadata: severity, meaning, what to do.

Source: what Kafka's DumpLogSegments, LogLoader and LogCleaner check or assume.
"""

from .check import Check, Severity

_RESTORE = (
    "Take this replica away and let the broker fetch it again from another one. Without a replica, a restart after "
    "an unclean stop cuts the log here: save the later records before that (Spark: format kafkalog)."
)
_REBUILD = "Delete the index file while the broker is stopped: the broker rebuilds it from the log when it starts."

LOG_CHECKS: dict[str, Check] = {
    "batch-crc-mismatch": Check(
        Severity.ERROR,
        "Bytes of a batch changed after it was written, by a disk, memory or an editor. Consumers stop here.",
        _RESTORE,
    ),
    "batch-length-invalid": Check(
        Severity.ERROR, "The length of a batch is impossible, so the next batch cannot be found from it.", _RESTORE
    ),
    "batch-magic-unknown": Check(
        Severity.ERROR,
        "There is not a batch of message format 2 here: overwritten bytes, or a format from before Kafka 0.11.",
        _RESTORE,
    ),
    "batch-incomplete": Check(
        Severity.ERROR, "The file ends inside a batch, although no broker was writing there.", _RESTORE
    ),
    "batch-header-invalid": Check(
        Severity.ERROR, "The counts or offsets in a batch's header contradict each other.", _RESTORE
    ),
    "records-malformed": Check(
        Severity.ERROR,
        "The CRC is right but the records cannot be decoded: a producer or broker wrote them like this.",
        _RESTORE,
    ),
    "batch-too-large": Check(
        Severity.ERROR,
        "A batch, its decompressed records or one of its records is too large to be read; the others are read.",
        "Check the producer: a small batch that claims a large size may be an attack. Kafka's consumers may still "
        "read it.",
    ),
    "file-unreadable": Check(
        Severity.ERROR,
        "The system cannot read the file (errno), or it is a directory, link, FIFO or device.",
        "Check the disk (dmesg) and permissions. Remove an entry that is not a file. Give a linked directory by its "
        "own path.",
    ),
    "partition-gone": Check(
        Severity.INFO, "The partition was deleted or moved to another directory while the audit ran.", "Nothing."
    ),
    "partition-changing": Check(
        Severity.INFO,
        "Retention, the cleaner or a deletion replaced files during each of four readings; it has no other findings.",
        "Audit at a quieter time, or a snapshot.",
    ),
    "record-offsets-invalid": Check(
        Severity.ERROR, "Offsets inside a batch do not rise, or are outside of its range.", _RESTORE
    ),
    "log-tail-torn": Check(
        Severity.INFO,
        "The active segment ends inside a batch: a broker was killed, or is writing. It is cut at the next start.",
        "Nothing.",
    ),
    "offsets-not-increasing": Check(
        Severity.ERROR,
        "A batch begins at or before the end of the previous one: batches were reordered or written twice.",
        _RESTORE,
    ),
    "offset-gap": Check(
        Severity.WARNING,
        "Offsets are missing in a topic that is not compacted: records were lost, or it was compacted once.",
        "Compare with another replica; find out whether cleanup.policy was compact once.",
    ),
    "segment-overlap": Check(
        Severity.ERROR,
        "A segment contains offsets of the next segment: a crash in the middle of a swap, or files copied together.",
        _RESTORE,
    ),
    "leader-epoch-decreasing": Check(
        Severity.ERROR, "A batch has an older leader epoch than the previous one.", _RESTORE
    ),
    "leader-epoch-mismatch": Check(
        Severity.WARNING,
        "leader-epoch-checkpoint has another epoch for an offset than the batch there: followers may truncate wrongly.",
        "Delete leader-epoch-checkpoint while the broker is stopped and restart it without .kafka_cleanshutdown.",
    ),
    "offset-index-missing": Check(
        Severity.WARNING, "A segment has no offset index.", "Nothing: the broker rebuilds it when it starts."
    ),
    "offset-index-size": Check(
        Severity.ERROR, "The size of the offset index is not a multiple of its 8-byte entries: it was cut.", _REBUILD
    ),
    "offset-index-not-increasing": Check(
        Severity.ERROR, "Entries of the offset index do not rise: fetches may miss records.", _REBUILD
    ),
    "offset-index-mismatch": Check(
        Severity.ERROR,
        "An entry of the offset index does not point to the batch with that last offset.",
        _REBUILD,
    ),
    "offset-index-sparse": Check(
        Severity.INFO,
        "The offset index has fewer entries than index.interval.bytes requires: older brokers write one per append.",
        "Nothing: reads scan a little more.",
    ),
    "offset-index-truncated": Check(
        Severity.WARNING, "The offset index ends long before the log does: reads of the rest scan the file.", _REBUILD
    ),
    "time-index-missing": Check(
        Severity.WARNING, "A segment has no time index.", "Nothing: the broker rebuilds it when it starts."
    ),
    "time-index-size": Check(
        Severity.ERROR, "The size of the time index is not a multiple of its 12-byte entries: it was cut.", _REBUILD
    ),
    "time-index-not-increasing": Check(
        Severity.ERROR, "Entries of the time index do not rise: look-ups by time return wrong offsets.", _REBUILD
    ),
    "time-index-mismatch": Check(
        Severity.ERROR, "An entry of the time index does not have the greatest timestamp up to its batch.", _REBUILD
    ),
    "time-index-incomplete": Check(
        Severity.WARNING,
        "The last entry of a closed segment's time index is not its greatest timestamp: retention may be early.",
        _REBUILD,
    ),
    "transaction-index-invalid": Check(
        Severity.ERROR,
        "The transaction index cannot be read, or has an entry without an abort marker in the log.",
        _REBUILD,
    ),
    "aborted-transaction-unindexed": Check(
        Severity.ERROR,
        "An aborted transaction has data but no entry in the transaction index: read_committed consumers see the data.",
        _REBUILD,
    ),
    "producer-snapshot-corrupt": Check(
        Severity.WARNING,
        "A producer snapshot cannot be read; the broker uses an older one and reads more of the log.",
        "Delete the file.",
    ),
    "checkpoint-beyond-log": Check(
        Severity.ERROR,
        "A checkpoint has an offset after the log's end: the log lost its tail after the checkpoint was written.",
        "Compare with other replicas; delete the line from the checkpoint while the broker is stopped.",
    ),
    "log-start-beyond-log": Check(
        Severity.ERROR,
        "The log start offset in the checkpoint is after the log's end: Kafka deletes all segments at its next start.",
        "Before the next start: delete the line from log-start-offset-checkpoint; find out why the log lost its end.",
    ),
    "checkpoint-unreadable": Check(
        Severity.ERROR,
        "A checkpoint file cannot be parsed; the broker uses 0 for its offsets.",
        "Delete the file while the broker is stopped.",
    ),
    "topic-id-mismatch": Check(
        Severity.ERROR,
        "partition.metadata has another topic id than the metadata: the directory belongs to a deleted topic.",
        "Move the directory away while the broker is stopped.",
    ),
    "batch-codec-unknown": Check(
        Severity.ERROR,
        "A batch has a compression type that Kafka does not have; its records cannot be read.",
        _RESTORE,
    ),
    "batch-attributes-unknown": Check(
        Severity.WARNING,
        "A batch has attribute bits that no known version of Kafka sets.",
        "Find out which client or broker wrote it; compare with another replica.",
    ),
    "batch-max-timestamp-wrong": Check(
        Severity.WARNING,
        "The maximum timestamp in a batch's header is not that of its records: retention and look-ups by "
        "time are wrong.",
        "Find out which producer wrote it; use an up-to-date client.",
    ),
    "timestamp-negative": Check(
        Severity.WARNING,
        "Records have no timestamp, or a negative one: retention by time uses the file's age.",
        "Set timestamps in the producer, or message.timestamp.type=LogAppendTime.",
    ),
    "timestamp-in-future": Check(
        Severity.WARNING,
        "Records are later than the clock: retention by time keeps their segment, and all later ones, until then.",
        "Correct the producer's clock; a lower message.timestamp.after.max.ms refuses such records.",
    ),
    "timestamp-before-limit": Check(
        Severity.INFO,
        "Records are older than message.timestamp.before.max.ms allows: they were written before the limit was set.",
        "Nothing.",
    ),
    "append-time-decreasing": Check(
        Severity.WARNING,
        "Append times decrease: the clock of a broker was set back, or the clocks of two leaders differ.",
        "Synchronise the brokers' clocks (NTP).",
    ),
    "leader-epoch-checkpoint-invalid": Check(
        Severity.ERROR,
        "Epochs in leader-epoch-checkpoint do not rise: followers may truncate wrongly.",
        "Delete leader-epoch-checkpoint while the broker is stopped and restart it without .kafka_cleanshutdown.",
    ),
    "leader-epoch-beyond-log": Check(
        Severity.WARNING,
        "leader-epoch-checkpoint has an epoch that begins after the log's end: the log lost its tail.",
        "Compare with other replicas; the broker drops the entry when it starts.",
    ),
    "producer-sequence-gap": Check(
        Severity.WARNING,
        "A producer's sequence skips numbers, which no broker accepts: batches in between were lost.",
        "Compare with another replica; look for lost segments.",
    ),
    "producer-sequence-duplicate": Check(
        Severity.WARNING,
        "A producer's sequence decreases: a batch is in the log twice, or the broker had forgotten the producer.",
        "Consumers see the records twice; raise producer.id.expiration.ms if producers pause for longer.",
    ),
    "producer-epoch-decreasing": Check(
        Severity.WARNING,
        "A producer wrote with an older epoch than before: a fenced producer was not refused.",
        "Look for two producers with the same transactional.id, and for lost producer snapshots.",
    ),
    "producer-snapshot-mismatch": Check(
        Severity.WARNING,
        "A producer snapshot contradicts the log: after a restart the broker may accept duplicates or refuse "
        "producers.",
        "Delete the snapshot while the broker is stopped: the broker reads the log instead.",
    ),
    "transaction-hanging": Check(
        Severity.ERROR,
        "A transaction has had no marker for longer than any coordinator waits: read_committed consumers stop there.",
        "kafka-transactions.sh abort with the topic, partition and start offset of the finding.",
    ),
    "transaction-marker-missing": Check(
        Severity.ERROR,
        "A transaction lost its marker: a cleaner removed it too early (KAFKA-8351, KAFKA-13727), or the log was cut.",
        "kafka-transactions.sh abort; update the brokers; compare with another replica.",
    ),
    "aborted-records-kept": Check(
        Severity.ERROR,
        "The cleaner left records of an aborted transaction, which may become committed when their marker "
        "is removed (KAFKA-13727).",
        "Update the brokers; delete cleaner-offset-checkpoint's line while the broker is stopped, to clean once more.",
    ),
    "null-key-in-compacted-topic": Check(
        Severity.WARNING,
        "Records without a key in a compacted topic, from before it was compacted: the cleaner deletes them.",
        "Save them if they are needed; give records keys.",
    ),
    "duplicate-keys-in-clean-part": Check(
        Severity.WARNING,
        "A key is twice in the cleaned part of the log: the cleaner failed, or the checkpoint is of another log.",
        "Delete cleaner-offset-checkpoint's line while the broker is stopped, to clean once more.",
    ),
    "tombstones-past-horizon": Check(
        Severity.INFO,
        "Tombstones have been due for removal for more than a week: the cleaner has not run since.",
        "Nothing, or a lower min.cleanable.dirty.ratio or max.compaction.lag.ms.",
    ),
    "partition-never-cleaned": Check(
        Severity.WARNING,
        "A compacted partition has been above its dirty ratio for a day, and the cleaner never completed it.",
        "Look for errors of the log cleaner in the broker's log; log.cleaner.enable must be true.",
    ),
    "compaction-overdue": Check(
        Severity.WARNING,
        "A compacted partition has waited for the cleaner for more than a day, or longer than max.compaction.lag.ms.",
        "Look for errors of the log cleaner in the broker's log (uncleanable partitions), and check "
        "its threads and buffer.",
    ),
    "retention-overdue": Check(
        Severity.WARNING,
        "A segment is beyond retention.ms or retention.bytes and still exists.",
        "Look for errors in the broker's log; a stopped broker deletes segments when it starts.",
    ),
    "segments-below-log-start": Check(
        Severity.INFO,
        "Segments are completely below the log start offset; the next retention check deletes them.",
        "Nothing.",
    ),
    "high-watermark-below-log-start": Check(
        Severity.WARNING,
        "The high watermark in the checkpoint is below the log start offset: the checkpoint is older than the log.",
        "Nothing if other replicas are in sync: the broker corrects it when it starts.",
    ),
    "cleaner-checkpoint-below-log-start": Check(
        Severity.INFO,
        "The cleaner's checkpoint is below the log start offset: retention or DeleteRecords passed it.",
        "Nothing: the next round begins at the log's start.",
    ),
    "partition-metadata-missing": Check(
        Severity.WARNING,
        "A partition's directory has no partition.metadata, so it may also belong to a deleted topic of that name.",
        "Nothing: the broker writes it when it starts.",
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
        "If other controllers have the log, delete __cluster_metadata-0 of this broker. Otherwise restore a backup.",
    ),
    "leftover-deleted": Check(
        Severity.INFO,
        "A deleted segment's file; it is removed after file.delete.delay.ms or at the next start.",
        "Nothing.",
    ),
    "leftover-cleaned": Check(
        Severity.INFO,
        "The cleaner was stopped while it wrote this file; the next start removes it.",
        "Nothing.",
    ),
    "leftover-swap": Check(
        Severity.INFO,
        "The cleaner was stopped while it renamed this file; the next start completes that.",
        "Start the broker before you copy single files of this directory.",
    ),
    "leftover-delete-directory": Check(
        Severity.INFO,
        "The directory of a deleted partition; it is removed after file.delete.delay.ms or at the next start.",
        "Nothing.",
    ),
    "leftover-future-directory": Check(
        Severity.INFO,
        "A replica that moves to this directory (AlterReplicaLogDirs).",
        "Nothing.",
    ),
    "leftover-stray-directory": Check(
        Severity.WARNING,
        "A partition that a broker found here and the metadata did not know; it is kept and takes space.",
        "Delete it if you do not need it.",
    ),
    "index-without-log": Check(
        Severity.WARNING,
        "An index without its segment: files were deleted or copied by hand.",
        "Restore the segment if there is a copy; the broker deletes the index when it starts.",
    ),
    "codecs-mixed": Check(
        Severity.INFO,
        "Batches of one partition are compressed in different ways: producers differ, or compression.type changed.",
        "Nothing.",
    ),
    "batches-tiny": Check(
        Severity.INFO,
        "Most batches hold one record: headers, requests and index entries cost more than the data.",
        "Raise linger.ms and batch.size in the producers.",
    ),
    "compression-without-gain": Check(
        Severity.INFO,
        "Compression saves less than a twentieth of the size: records are compressed or random already.",
        "Turn compression off for this topic, or use larger batches.",
    ),
    "key-skew": Check(
        Severity.INFO,
        "One key has more than a fifth of a partition's records: its partition and its consumer have more"
        " load than others.",
        "Spread the key, or accept it.",
    ),
    "partition-skew": Check(
        Severity.INFO,
        "A partition is more than three times as large as the topic's typical partition.",
        "Check the keys and the producers' partitioner.",
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
    ),
    "replica-behind": Check(
        Severity.INFO,
        "A replica is shorter than another one.",
        "Nothing while the follower fetches; otherwise find out why it is out of sync.",
    ),
    "replica-keys-missing": Check(
        Severity.ERROR,
        "A key in one replica of a compacted partition is missing from the cleaned part and the rest of the other. "
        "It was "
        "lost there, or it was deleted or aborted and cleaned there while the first replica was away.",
        "Keep both directories. Find out which one is right, and let the broker fetch the other one again.",
    ),
}
"""Every check of a log by the name of its findings."""
