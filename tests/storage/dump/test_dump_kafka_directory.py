"""Every file in the log directory of a real Kafka: its tool and ours print the same lines."""

from pathlib import Path

import pytest

from odradek.protocol.internal_records.coordinator_serde import CoordinatorRecordType
from parity import new_groups
from parity.side import Side
from support.data.dump_log import Dump, comma_separated, kafka_dump
from support.kafka.java import java_or_skip
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire
from support.kafka.workload import SMALL, consume, produce

pytestmark = pytest.mark.java

NOT_WRITTEN = {
    CoordinatorRecordType.LEGACY_OFFSET_COMMIT,
    CoordinatorRecordType.CONSUMER_GROUP_PARTITION_METADATA,
    CoordinatorRecordType.CONSUMER_GROUP_REGULAR_EXPRESSION,
}
"""Types that Kafka 4 does not write, or only for groups with regular expressions."""


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped Kafka's directory: records in each codec, transactions, groups of four protocols, metadata."""
    java_or_skip()
    kafka = RealKafka(tmp_path_factory.mktemp("kafka"), SMALL | new_groups.KEYS)
    kafka.start()
    try:
        produce(kafka.bootstrap_servers)
        for protocol in ("classic", "consumer"):
            consume(kafka.bootstrap_servers, protocol)
        with Wire() as wire:
            new_groups.fill(Side(wire, kafka.port, False))
    finally:
        kafka.stop()
    return kafka.log_dir


@pytest.mark.parametrize(
    ("flags", "pattern"),
    [
        (("--print-data-log",), "[tu]-*/*.log"),
        (("--offsets-decoder",), "__consumer_offsets-*/*.log"),
        (("--transaction-log-decoder",), "__transaction_state-*/*.log"),
        (("--share-group-state-decoder",), "__share_group_state-*/*.log"),
        (("--cluster-metadata-decoder",), "__cluster_metadata-0/*.log"),
        (("--cluster-metadata-decoder",), "**/*.checkpoint"),
        ((), "*/*.snapshot"),
        ((), "*/*.txnindex"),
        ((), "*/*index"),
        (("--index-sanity-check",), "[tu]-*/*.timeindex"),
    ],
)
def test_lines_are_those_of_kafkas_tool(log_dir: Path, dump: Dump, flags: tuple[str, ...], pattern: str) -> None:
    paths = [path for path in log_dir.glob(pattern) if path.suffix]
    assert sum(path.stat().st_size for path in paths)
    arguments = [*flags, "--files", comma_separated(paths)]
    theirs, ours = kafka_dump(*arguments), dump(*arguments)
    assert theirs.code == 0, theirs.err
    assert (ours.code, ours.err) == (0, [])
    assert ours.out == theirs.out
    assert len(ours.out) > len(paths)


def test_json_has_every_record_type_by_name(log_dir: Path, dump: Dump) -> None:
    found = dump("--json", "--offsets-decoder", *sorted(log_dir.glob("__consumer_offsets-*/*.log")))
    assert found.code == 0
    records = [document for document in found.documents if document["type"] == "record"]
    types = {record["key"]["type"] for record in records}
    assert types == set(CoordinatorRecordType) - NOT_WRITTEN
    values = [record["value"]["data"] for record in records if record["key"]["name"] == "GroupMetadataKey"]
    (member,) = next(value["members"] for value in values if value and value["members"])
    assert member["subscription"]["topics"] == ["t"]
    assert member["assignment"]["assignedPartitions"] == [{"topic": "t", "partitions": [0, 1]}]

    found = dump("--json", "--cluster-metadata-decoder", *sorted(log_dir.glob("__cluster_metadata-0/*.log")))
    records = [document for document in found.documents if document["type"] == "record"]
    topics = {r["value"]["data"]["name"] for r in records if r.get("value", {}).get("name") == "TopicRecord"}
    assert {"t", "u", "__consumer_offsets", "__transaction_state"} <= topics


def test_a_wrong_decoder_is_said_for_each_record(log_dir: Path, dump: Dump) -> None:
    found = dump("--cluster-metadata-decoder", *sorted(log_dir.glob("__transaction_state-*/*.log")))
    assert found.code == 1
    faults = [line for line in found.out if "payload: Error at " in line]
    assert faults
    assert len(found.err) == len(faults)
