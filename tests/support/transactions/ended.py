"""Waits for the markers of a transaction whose end has been answered.

Kafka answers EndTxn once the coordinator has stored the outcome, and writes the markers later
(TransactionMarkerChannelManager). Until then a read_committed reader sees neither the transaction nor later records.
"""

from collections.abc import Iterable

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from support.eventually import eventually

TIMEOUT_S = 60.0


def wait_until_transactions_end(servers: str, topics: Iterable[str]) -> None:
    """Waits until no transaction is open in any partition of the topics. Raises AssertionError if one stays."""
    admin = AdminClient({"bootstrap.servers": servers})
    found = admin.list_topics(timeout=TIMEOUT_S).topics
    partitions = [TopicPartition(topic, index) for topic in topics for index in found[topic].partitions]
    eventually(lambda: f"no transaction open in {_open(admin, partitions)}", lambda: not _open(admin, partitions))


def _open(admin: AdminClient, partitions: list[TopicPartition]) -> list[str]:
    """Partitions whose last stable offset is below the high watermark."""
    stable = _ends(admin, partitions, IsolationLevel.READ_COMMITTED)
    ends = _ends(admin, partitions, IsolationLevel.READ_UNCOMMITTED)
    return [name for name, end in ends.items() if stable[name] < end]


def _ends(admin: AdminClient, partitions: list[TopicPartition], isolation_level: IsolationLevel) -> dict[str, int]:
    asked = {partition: OffsetSpec.latest() for partition in partitions}  # type: ignore[no-untyped-call]
    answers = admin.list_offsets(asked, isolation_level=isolation_level)
    ends = {}
    for partition, answer in answers.items():
        ends[f"{partition.topic}-{partition.partition}"] = int(answer.result(TIMEOUT_S).offset)
    return ends
