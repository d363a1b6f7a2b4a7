"""Lists all tables by name, for Spark's views and other jobs.

Pure. Needs pyarrow, not numba.
"""

from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC

from . import batches, checkpoints, groups, indexes, metadata, offsets, share_states, transactions
from .task import Table, plan_partitions, plan_topic

_ALL = (
    Table("batches", batches.SCHEMA, plan_partitions, batches.read),
    Table("offsets", offsets.SCHEMA, plan_topic(OFFSETS_TOPIC), offsets.read),
    Table("groups", groups.SCHEMA, plan_topic(OFFSETS_TOPIC), groups.read),
    Table("share_states", share_states.SCHEMA, plan_topic(SHARE_STATE_TOPIC), share_states.read),
    Table("transactions", transactions.SCHEMA, plan_partitions, transactions.read),
    Table("metadata", metadata.SCHEMA, metadata.plan, metadata.read),
    Table("indexes", indexes.SCHEMA, plan_partitions, indexes.read),
    Table("checkpoints", checkpoints.SCHEMA, checkpoints.plan, checkpoints.read),
)

TABLES: dict[str, Table] = {table.name: table for table in _ALL}
"""Name -> table."""
