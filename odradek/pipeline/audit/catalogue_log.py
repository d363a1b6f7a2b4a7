"""The findings about batches, records, indexes and producer snapshots: severity, meaning, what to do.

Source: what Kafka's DumpLogSegments, LogLoader and LogCleaner check or assume.
"""

from .check import Check, Harm, Severity

_RESTORE = (
    "Take this replica away, keep it, and let the broker fetch it again from another one. Without a replica, a restart "
    "after an unclean stop cuts the log here: save the later records before that (Spark: format kafkalog)."
)
_REBUILD = (
    "Move the index file away, and keep it, while the broker is stopped: the broker rebuilds it from the log when it "
    "starts."
)

LOG_CHECKS: dict[str, Check] = {
    "batch-crc-mismatch": Check(
        Severity.ERROR,
        "Bytes of a batch changed after it was written, by a disk, memory or an editor. Consumers stop here.",
        _RESTORE,
    ),
    "batch-length-invalid": Check(
        Severity.ERROR, "The length of a batch is impossible, so the next batch cannot be found from it.", _RESTORE
    ),
    "log-end-unreadable": Check(
        Severity.ERROR,
        "A batch near the end of the log has an impossible length, or zeros come after the last batch. A start after a "
        "clean stop looks for the log's end there: Kafka does not start.",
        "Keep a copy of the directory. Without .kafka_cleanshutdown Kafka starts and cuts the log at this batch.",
        Harm.NO_START,
    ),
    "batch-magic-unknown": Check(
        Severity.ERROR,
        "The bytes are not a batch: they were overwritten, or a later version wrote them.",
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
        Severity.INFO,
        "The partition was deleted or moved to another directory while the audit ran.",
        "Nothing.",
        Harm.LATER,
    ),
    "partition-changing": Check(
        Severity.INFO,
        "Retention, the cleaner or a deletion replaced files during each of four readings; it has no other findings.",
        "Audit at a quieter time, or a snapshot.",
        Harm.LATER,
    ),
    "record-offsets-invalid": Check(
        Severity.ERROR, "Offsets inside a batch do not rise, or are outside of its range.", _RESTORE
    ),
    "log-tail-torn": Check(
        Severity.INFO,
        "The active segment ends inside a batch: a broker was killed, or is writing. It is cut at the next start.",
        "Nothing.",
        Harm.LATER,
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
    "offset-before-segment": Check(
        Severity.ERROR,
        "A batch has offsets before the base offset of its segment: files were exchanged or changed. Readers miss it "
        "or get it at a wrong place. After an unclean stop Kafka does not start, if recovery reads the segment.",
        _RESTORE,
        Harm.NEXT_START,
    ),
    "offset-beyond-segment": Check(
        Severity.ERROR,
        "A batch has offsets more than 2147483647 above the base offset of its segment, which no index can name: its "
        "offset was changed. Readers get its records at a wrong place, and the log ends there.",
        _RESTORE,
    ),
    "segment-emptied": Check(
        Severity.ERROR,
        "A segment before the active one has no batch, but its time index has entries: its log was emptied, or "
        "replaced by an older copy. Readers miss its records.",
        _RESTORE,
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
        "Move leader-epoch-checkpoint away while the broker is stopped and restart it without .kafka_cleanshutdown.",
        Harm.LATER,
    ),
    "offset-index-missing": Check(
        Severity.WARNING,
        "A segment has no offset index.",
        "Nothing: the broker rebuilds it when it starts.",
        Harm.LATER,
    ),
    "offset-index-size": Check(
        Severity.ERROR,
        "The size of the offset index is not a multiple of its 8-byte entries: it was cut.",
        _REBUILD,
        Harm.LATER,
    ),
    "offset-index-not-increasing": Check(
        Severity.ERROR, "Entries of the offset index do not rise: fetches may miss records.", _REBUILD
    ),
    "offset-index-mismatch": Check(
        Severity.ERROR,
        "An entry of the offset index does not point to the batch with that last offset.",
        _REBUILD,
        Harm.LATER,
    ),
    "offset-index-sparse": Check(
        Severity.INFO,
        "The offset index has fewer entries than one for each index.interval.bytes: some brokers write one an append.",
        "Nothing: reads scan a little more.",
        Harm.LATER,
    ),
    "offset-index-truncated": Check(
        Severity.WARNING,
        "The offset index ends long before the log does: reads of the rest scan the file.",
        _REBUILD,
        Harm.LATER,
    ),
    "time-index-missing": Check(
        Severity.WARNING,
        "A segment has no time index.",
        "Nothing: the broker rebuilds it when it starts.",
        Harm.LATER,
    ),
    "time-index-size": Check(
        Severity.ERROR,
        "The size of the time index is not a multiple of its 12-byte entries: it was cut.",
        _REBUILD,
        Harm.LATER,
    ),
    "time-index-not-increasing": Check(
        Severity.ERROR,
        "Entries of the time index do not rise: look-ups by time return wrong offsets.",
        _REBUILD,
        Harm.LATER,
    ),
    "time-index-mismatch": Check(
        Severity.ERROR,
        "An entry of the time index does not have the greatest timestamp up to its batch.",
        _REBUILD,
        Harm.LATER,
    ),
    "time-index-incomplete": Check(
        Severity.WARNING,
        "The last entry of a closed segment's time index is not its greatest timestamp: retention may be early.",
        _REBUILD,
        Harm.LATER,
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
        "Move the file away.",
        Harm.LATER,
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
        Harm.LATER,
    ),
    "batch-max-timestamp-wrong": Check(
        Severity.WARNING,
        "The maximum timestamp in a batch's header is not that of its records: retention and look-ups by "
        "time are wrong.",
        "Find out which producer wrote it; use an up-to-date client.",
        Harm.LATER,
    ),
    "timestamp-negative": Check(
        Severity.WARNING,
        "Records have no timestamp, or a negative one: retention by time uses the file's age.",
        "Set timestamps in the producer, or message.timestamp.type=LogAppendTime.",
        Harm.LATER,
    ),
    "timestamp-in-future": Check(
        Severity.WARNING,
        "Records have timestamps in the future: retention by time keeps their and all later segments until then.",
        "Correct the producer's clock; a lower message.timestamp.after.max.ms refuses such records.",
        Harm.LATER,
    ),
    "timestamp-before-limit": Check(
        Severity.INFO,
        "Records are older than message.timestamp.before.max.ms allows: they were written before the limit was set.",
        "Nothing.",
        Harm.LATER,
    ),
    "append-time-decreasing": Check(
        Severity.WARNING,
        "Append times decrease: the clock of a broker was set back, or the clocks of two leaders differ.",
        "Synchronise the brokers' clocks (NTP).",
        Harm.LATER,
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
        "Move the snapshot away while the broker is stopped: the broker reads the log instead.",
        Harm.LATER,
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
    "transaction-marker-unknown": Check(
        Severity.ERROR,
        "A control record has a type or version that Kafka does not write there. Clients that do not know it ignore "
        "the marker: after an abort they drop the producer's later transactions. If the type is unknown, Kafka does "
        "not start after an unclean stop, because recovery reads it.",
        "Keep a copy. Take this replica away and let the broker fetch it again from another one.",
    ),
    "transactional-bit-lost": Check(
        Severity.ERROR,
        "A batch of a transactional producer lacks the transactional bit: read_committed consumers get its records "
        "even if the transaction was aborted.",
        _RESTORE,
    ),
    "transaction-outcome-contradicted": Check(
        Severity.ERROR,
        "The transaction index says that a transaction was aborted, the marker in the log that it was committed: one "
        "was changed. Readers drop its records while the index exists, and get them if the index is rebuilt.",
        "Keep both files: they are the only evidence. Ask the producer's application which is right; compare with "
        "another replica.",
    ),
    "transaction-index-wrong": Check(
        Severity.ERROR,
        "An entry of the transaction index begins at another offset than the aborted transaction. If it is earlier, "
        "read_committed consumers drop committed records of the same producer; if it is later, they get aborted ones.",
        _REBUILD,
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
        "A key has two records in the log's cleaned part: the cleaner failed, or its checkpoint is of another log.",
        "Delete cleaner-offset-checkpoint's line while the broker is stopped, to clean once more.",
    ),
    "tombstones-past-horizon": Check(
        Severity.INFO,
        "Tombstones have been due for removal for more than a week: the cleaner has not run since.",
        "Nothing, or a lower min.cleanable.dirty.ratio or max.compaction.lag.ms.",
        Harm.LATER,
    ),
    "codecs-mixed": Check(
        Severity.INFO,
        "Batches of one partition are compressed in different ways: producers differ, or compression.type changed.",
        "Nothing.",
        Harm.LATER,
    ),
    "batches-tiny": Check(
        Severity.INFO,
        "Most batches hold one record: headers, requests and index entries cost more than the data.",
        "Raise linger.ms and batch.size in the producers.",
        Harm.LATER,
    ),
    "compression-without-gain": Check(
        Severity.INFO,
        "Compression saves less than a twentieth of the size: records are compressed or random already.",
        "Turn compression off for this topic, or use larger batches.",
        Harm.LATER,
    ),
    "keys-of-another-partition": Check(
        Severity.ERROR,
        "All keys that were looked at belong to one other partition, by the partitioner of Java or of librdkafka: the "
        "directories of two partitions were exchanged. Consumers find a key in another partition than its producers "
        "write it to, so its records lose their order.",
        "Compare with another replica or a backup. If two directories were exchanged, exchange their names while the "
        "broker is stopped.",
    ),
    "key-skew": Check(
        Severity.INFO,
        "One key has more than a fifth of a partition's records: its partition and its consumer have more"
        " load than others.",
        "Spread the key, or accept it.",
        Harm.LATER,
    ),
}
"""Every check of a log by the name of its findings."""
