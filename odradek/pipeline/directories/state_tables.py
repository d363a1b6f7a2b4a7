"""The tables of an export's state: their names and schemas, which `export` writes and `import` reads.

    OUT/_state/topics.parquet        topic id, number of partitions and configs, as the metadata log has them
    OUT/_state/partitions.parquet    log start, log end and leader epochs of each partition
    OUT/_state/uncommitted.parquet   the offsets of exported rows of aborted and of open transactions
    OUT/_state/topic=__…/date=…      the records of the coordinators' topics that a consumer of committed records gets

Pure. Readers of Hive's layout skip names that begin with an underscore.
"""

import pyarrow as pa

STATE_DIRECTORY = "_state"
TOPICS_FILE = "topics.parquet"
PARTITIONS_FILE = "partitions.parquet"
UNCOMMITTED_FILE = "uncommitted.parquet"

TOPICS_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("topicId", pa.string()),
        ("partitions", pa.int32()),
        ("configs", pa.map_(pa.string(), pa.string())),
    ]
)
"""`topicId` and `configs` are null, and `partitions` counts those that were found, if the metadata log is elsewhere."""
PARTITIONS_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("logStartOffset", pa.int64()),
        ("logEndOffset", pa.int64()),
        (
            "leaderEpochs",
            pa.list_(pa.struct([pa.field("epoch", pa.int32()), pa.field("startOffset", pa.int64())])),
        ),
    ]
)
UNCOMMITTED_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("firstOffset", pa.int64()),
        ("lastOffset", pa.int64()),
        ("isOpen", pa.bool_()),
    ]
)
"""Ranges of offsets, both ends included, by topic, partition and offset. `isOpen`: no marker has ended it."""
