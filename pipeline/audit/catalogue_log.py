"""What an audit can find in logs, indexes, checkpoints and metadata: severity, meaning, what to do.

Source: what Kafka's DumpLogSegments, LogLoader and LogCleaner check or assume.
"""

from .check import Check, Severity

_RESTORE = (
    "Take this replica away and let the broker fetch it anew from another one; without a replica, a restart after an "
    "unclean stop cuts the log here: save what follows before that (Spark: format kafkalog)."
)
_REBUILD = "Delete the index file while the broker is stopped: it rebuilds it from the log when it starts."

LOG_CHECKS: dict[str, Check] = {
    "batch-crc-mismatch": Check(
        Severity.ERROR,
        "Bytes of a batch changed after it was written: disk, memory or an editor. Consumers stop here.",
        _RESTORE,
    ),
    "batch-length-invalid": Check(
        Severity.ERROR, "The length of a batch is impossible; nothing behind it can be found by reading on.", _RESTORE
    ),
    "batch-magic-unknown": Check(
        Severity.ERROR,
        "No batch of message format 2 begins where one must: overwritten bytes, or a format from before Kafka 0.11.",
        _RESTORE,
    ),
    "batch-incomplete": Check(
        Severity.ERROR, "The file ends inside a batch, though it is not where a broker was writing.", _RESTORE
    ),
    "batch-header-invalid": Check(
        Severity.ERROR, "The counts or offsets in a batch's header contradict each other.", _RESTORE
    ),
    "records-malformed": Check(
        Severity.ERROR,
        "The CRC is right but the records can't be decoded: a producer or broker wrote them so.",
        _RESTORE,
    ),
    "batch-too-large": Check(
        Severity.ERROR,
        "A batch, its records decompressed, or one of its records is larger than is read at once; the rest is read.",
        "Look at the producer: few bytes that claim much may be an attack. Kafka's consumers read it if they can.",
    ),
    "file-unreadable": Check(
        Severity.ERROR,
        "The system refuses to read it (errno), or in a file's place is a directory, link, FIFO or device.",
        "Look at the disk (dmesg) and at permissions; what is no file, remove; a linked directory, give itself.",
    ),
    "partition-gone": Check(
        Severity.INFO, "The partition was deleted or moved to another directory while the audit ran.", "Nothing."
    ),
    "partition-changing": Check(
        Severity.INFO,
        "Retention, the cleaner or a deletion replaced files under each of four readings; nothing else is said of it.",
        "Audit at a quieter time, or a snapshot.",
    ),
    "record-offsets-invalid": Check(
        Severity.ERROR, "Offsets inside a batch don't rise, or lie outside of it.", _RESTORE
    ),
    "log-tail-torn": Check(
        Severity.INFO,
        "The active segment ends inside a batch: a broker was killed, or is writing. It is cut at the next start.",
        "Nothing.",
    ),
    "offsets-not-increasing": Check(
        Severity.ERROR,
        "A batch begins at or before the end of the one in front of it: batches were reordered or written twice.",
        _RESTORE,
    ),
    "offset-gap": Check(
        Severity.WARNING,
        "Offsets are missing in a topic that is not compacted: records were lost, or it was compacted once.",
        "Compare with another replica; find out whether cleanup.policy was compact once.",
    ),
    "segment-overlap": Check(
        Severity.ERROR,
        "A segment holds offsets of the segment behind it: a crash in the middle of a swap, or files copied together.",
        _RESTORE,
    ),
    "leader-epoch-decreasing": Check(
        Severity.ERROR, "A batch has an older leader epoch than the one in front of it.", _RESTORE
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
        Severity.ERROR, "The offset index is no whole number of 8-byte entries: it was cut.", _REBUILD
    ),
    "offset-index-not-increasing": Check(
        Severity.ERROR, "Entries of the offset index don't rise: fetches may miss records.", _REBUILD
    ),
    "offset-index-mismatch": Check(
        Severity.ERROR,
        "An entry of the offset index points elsewhere than at the batch with that last offset.",
        _REBUILD,
    ),
    "offset-index-sparse": Check(
        Severity.INFO,
        "The offset index has fewer entries than index.interval.bytes asks for: older brokers write one an append.",
        "Nothing: reads scan a little more.",
    ),
    "offset-index-truncated": Check(
        Severity.WARNING, "The offset index ends long before the log does: reads of the rest scan the file.", _REBUILD
    ),
    "time-index-missing": Check(
        Severity.WARNING, "A segment has no time index.", "Nothing: the broker rebuilds it when it starts."
    ),
    "time-index-size": Check(
        Severity.ERROR, "The time index is no whole number of 12-byte entries: it was cut.", _REBUILD
    ),
    "time-index-not-increasing": Check(
        Severity.ERROR, "Entries of the time index don't rise: look-ups by time give wrong offsets.", _REBUILD
    ),
    "time-index-mismatch": Check(
        Severity.ERROR, "An entry of the time index has another time than the greatest up to its batch.", _REBUILD
    ),
    "time-index-incomplete": Check(
        Severity.WARNING,
        "The last entry of a closed segment's time index is not its greatest timestamp: retention may be early.",
        _REBUILD,
    ),
    "transaction-index-invalid": Check(
        Severity.ERROR,
        "The transaction index can't be read, or has an entry without an abort marker in the log.",
        _REBUILD,
    ),
    "aborted-transaction-unindexed": Check(
        Severity.ERROR,
        "An aborted transaction has data but no entry in the transaction index: read_committed consumers see the data.",
        _REBUILD,
    ),
    "producer-snapshot-corrupt": Check(
        Severity.WARNING,
        "A producer snapshot can't be read; the broker uses an older one and reads more of the log.",
        "Delete the file.",
    ),
    "checkpoint-beyond-log": Check(
        Severity.ERROR,
        "A checkpoint names an offset behind the log's end: the log lost its tail after the checkpoint was written.",
        "Compare with other replicas; delete the line from the checkpoint while the broker is stopped.",
    ),
    "log-start-beyond-log": Check(
        Severity.ERROR,
        "The log start offset's checkpoint is beyond the log's end: Kafka deletes all segments at its next start.",
        "Before the next start: delete the line from log-start-offset-checkpoint; find out why the log lost its end.",
    ),
    "checkpoint-unreadable": Check(
        Severity.ERROR,
        "A checkpoint file can't be understood; the broker takes its offsets as 0.",
        "Delete the file while the broker is stopped.",
    ),
    "topic-id-mismatch": Check(
        Severity.ERROR,
        "partition.metadata has another topic id than the metadata: the directory is of a deleted topic.",
        "Move the directory away while the broker is stopped.",
    ),
    "batch-codec-unknown": Check(
        Severity.ERROR,
        "A batch names a compression type that Kafka doesn't have; its records can't be read.",
        _RESTORE,
    ),
    "batch-attributes-unknown": Check(
        Severity.WARNING,
        "A batch has attribute bits that no version of Kafka known here sets.",
        "Find out which client or broker wrote it; compare with another replica.",
    ),
    "batch-max-timestamp-wrong": Check(
        Severity.WARNING,
        "The greatest timestamp in a batch's header is not that of its records: retention and look-ups by "
        "time go wrong.",
        "Find out which producer wrote it; use an up-to-date client.",
    ),
    "timestamp-negative": Check(
        Severity.WARNING,
        "Records have no timestamp, or a negative one: retention by time goes by the file's age.",
        "Set timestamps in the producer, or message.timestamp.type=LogAppendTime.",
    ),
    "timestamp-in-future": Check(
        Severity.WARNING,
        "Records are later than the clock: retention by time keeps their segment, and all behind it, until then.",
        "Correct the producer's clock; a lower message.timestamp.after.max.ms refuses such records.",
    ),
    "timestamp-before-limit": Check(
        Severity.INFO,
        "Records are older than message.timestamp.before.max.ms allows: they came before the limit was set.",
        "Nothing.",
    ),
    "append-time-decreasing": Check(
        Severity.WARNING,
        "Append times go back: the clock of a broker was set back, or the clocks of two leaders differ.",
        "Synchronise the brokers' clocks (NTP).",
    ),
    "leader-epoch-checkpoint-invalid": Check(
        Severity.ERROR,
        "Epochs in leader-epoch-checkpoint don't rise: followers may truncate wrongly.",
        "Delete leader-epoch-checkpoint while the broker is stopped and restart it without .kafka_cleanshutdown.",
    ),
    "leader-epoch-beyond-log": Check(
        Severity.WARNING,
        "leader-epoch-checkpoint has an epoch that begins behind the log's end: the log lost its tail.",
        "Compare with other replicas; the broker drops the entry when it starts.",
    ),
    "producer-sequence-gap": Check(
        Severity.WARNING,
        "A producer's sequence jumps forward though no broker accepts that: batches between were lost.",
        "Compare with another replica; look for lost segments.",
    ),
    "producer-sequence-duplicate": Check(
        Severity.WARNING,
        "A producer's sequence goes back: a batch is in the log twice, or the broker had forgotten the producer.",
        "Consumers see the records twice; raise producer.id.expiration.ms if producers pause for longer.",
    ),
    "producer-epoch-decreasing": Check(
        Severity.WARNING,
        "A producer wrote in an older epoch than before: a fenced producer got through.",
        "Look for two producers with one transactional.id, and for lost producer snapshots.",
    ),
    "producer-snapshot-mismatch": Check(
        Severity.WARNING,
        "A producer snapshot contradicts the log: after a restart the broker may take duplicates or refuse producers.",
        "Delete the snapshot while the broker is stopped: it reads the log instead.",
    ),
    "transaction-hanging": Check(
        Severity.ERROR,
        "A transaction has no marker for longer than any coordinator waits: read_committed consumers stand"
        " still there.",
        "kafka-transactions.sh abort with the topic, partition and start offset of the finding.",
    ),
    "transaction-marker-missing": Check(
        Severity.ERROR,
        "A transaction lost its marker: a cleaner dropped it too early (KAFKA-8351, KAFKA-13727), or the log was cut.",
        "kafka-transactions.sh abort; update the brokers; compare with another replica.",
    ),
    "aborted-records-kept": Check(
        Severity.ERROR,
        "The cleaner left records of an aborted transaction, which may become committed when their marker "
        "goes (KAFKA-13727).",
        "Update the brokers; delete cleaner-offset-checkpoint's line while the broker is stopped, to clean once more.",
    ),
    "null-key-in-compacted-topic": Check(
        Severity.WARNING,
        "Records without a key in a compacted topic, from before it was compacted: the cleaner deletes them.",
        "Save them if they are needed; give records keys.",
    ),
    "duplicate-keys-in-clean-part": Check(
        Severity.WARNING,
        "A key stands twice in the part that the cleaner has done: it failed, or the checkpoint is not of this log.",
        "Delete cleaner-offset-checkpoint's line while the broker is stopped, to clean once more.",
    ),
    "tombstones-past-horizon": Check(
        Severity.INFO,
        "Tombstones have been due for removal for more than a week: no round of the cleaner came since.",
        "Nothing, or a lower min.cleanable.dirty.ratio or max.compaction.lag.ms.",
    ),
    "partition-never-cleaned": Check(
        Severity.WARNING,
        "A compacted partition has been dirty enough for a day, and no cleaner ever finished it.",
        "Look for errors of the log cleaner in the broker's log; log.cleaner.enable must be true.",
    ),
    "compaction-overdue": Check(
        Severity.WARNING,
        "A compacted partition has waited for the cleaner for more than a day, or longer than max.compaction.lag.ms.",
        "Look for errors of the log cleaner in the broker's log (uncleanable partitions), and at its "
        "threads and buffer.",
    ),
    "retention-overdue": Check(
        Severity.WARNING,
        "A segment is past retention.ms or retention.bytes, and is still there.",
        "Look for errors in the broker's log; a replica of a stopped broker is deleted from when it starts.",
    ),
    "segments-below-log-start": Check(
        Severity.INFO,
        "Segments lie wholly below the log start offset; they go with the next check of retention.",
        "Nothing.",
    ),
    "high-watermark-below-log-start": Check(
        Severity.WARNING,
        "The high watermark's checkpoint is below the log's start: the checkpoint is older than the log.",
        "Nothing if other replicas are in sync: the broker corrects it when it starts.",
    ),
    "cleaner-checkpoint-below-log-start": Check(
        Severity.INFO,
        "The cleaner's checkpoint is below the log's start: retention or DeleteRecords went past it.",
        "Nothing: the next round begins at the log's start.",
    ),
    "partition-metadata-missing": Check(
        Severity.WARNING,
        "A partition's directory has no partition.metadata, so it can't be told from one of a deleted "
        "topic of that name.",
        "Nothing: the broker writes it when it starts.",
    ),
    "partition-not-in-metadata": Check(
        Severity.WARNING,
        "A directory is of a partition that the metadata doesn't know: of a deleted topic, or from another cluster.",
        "Nothing: the broker renames it to -stray when it starts. If the topic should exist, restore metadata first.",
    ),
    "partition-assigned-elsewhere": Check(
        Severity.WARNING,
        "A directory is of a partition that the metadata assigns to another broker or log directory.",
        "Move it away once the assigned replicas are in sync.",
    ),
    "partition-missing": Check(
        Severity.ERROR,
        "The metadata assigns a partition to this directory, and it is not there: its records here are lost.",
        "Nothing if there are other replicas: the broker makes it and fetches; else restore it from a backup.",
    ),
    "metadata-log-damaged": Check(
        Severity.ERROR,
        "The metadata log or its snapshot is damaged, or lost its end: the broker won't start, or knows less. Which "
        "partitions belong here is not judged.",
        "Delete __cluster_metadata-0 of this broker alone, if other controllers have the log; else restore a backup.",
    ),
    "leftover-deleted": Check(
        Severity.INFO,
        "A deleted segment's file; it goes after file.delete.delay.ms or at the next start.",
        "Nothing.",
    ),
    "leftover-cleaned": Check(
        Severity.INFO,
        "The cleaner was stopped while it wrote this file; the next start removes it.",
        "Nothing.",
    ),
    "leftover-swap": Check(
        Severity.INFO,
        "The cleaner was stopped while it put this file in place; the next start finishes that.",
        "Don't copy single files of this directory before the broker was started.",
    ),
    "leftover-delete-directory": Check(
        Severity.INFO,
        "The directory of a deleted partition; it goes after file.delete.delay.ms or at the next start.",
        "Nothing.",
    ),
    "leftover-future-directory": Check(
        Severity.INFO,
        "A replica on its way to this directory (AlterReplicaLogDirs).",
        "Nothing.",
    ),
    "leftover-stray-directory": Check(
        Severity.WARNING,
        "A partition that a broker found here and the metadata did not know; it is kept and takes room.",
        "Delete it when nobody misses it.",
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
        "One key has more than a fifth of a partition's records: its partition and its consumer carry more"
        " than others.",
        "Spread the key, or accept it.",
    ),
    "partition-skew": Check(
        Severity.INFO,
        "A partition is more than three times as large as the topic's usual one.",
        "Look at the keys and at the producers' partitioner.",
    ),
    "replicas-diverge": Check(
        Severity.ERROR,
        "Two replicas have different batches below the high watermark: one lost or changed what was committed.",
        "Keep both directories; find out which one consumers have seen, and let the other be fetched anew.",
    ),
    "replica-tail-differs": Check(
        Severity.INFO,
        "Two replicas part above the high watermark: the follower cuts its log there when it meets the leader.",
        "Nothing.",
    ),
    "replica-behind": Check(
        Severity.INFO,
        "A replica is shorter than another one.",
        "Nothing while the follower fetches; else look why it is out of sync.",
    ),
    "replica-keys-missing": Check(
        Severity.ERROR,
        "A key of one replica of a compacted partition is neither in the other's clean part nor later: it "
        "was lost there, or deleted or aborted there while the one was away, and cleaned before it came back.",
        "Keep both directories; find out which one is right, and let the other be fetched anew.",
    ),
}
"""Every check of a log by the name of its findings."""
