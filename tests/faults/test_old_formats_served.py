"""A broker whose directory has messages of format 0 and 1, in a topic and in `__consumer_offsets`: clients see them."""

from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from odradek.protocol.internal_records.coordinator_serde import encode_key, encode_value
from odradek.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking
from support.data.legacy_messages import LEGACY_CODECS, messages

NOW_MS = 1_700_000_000_000
GROUP = "old-readers"


def replace_log(home: Path, name: str, data: bytes) -> None:
    """Replaces the log of a stopped broker's partition, and makes its next start recover it."""
    [directory] = home.glob(f"**/{name}")
    for path in directory.iterdir():
        if path.name[:20].isdigit():
            path.unlink()
    (directory / f"{0:020d}.log").write_bytes(data)
    (directory.parent / ".kafka_cleanshutdown").unlink(missing_ok=True)
    (directory.parent / "recovery-point-offset-checkpoint").write_text("0\n0\n")


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_a_topic_and_the_offsets_of_a_group(tmp_path: Path, magic: int, codec: CompressionType) -> None:
    records = [Record(number, NOW_MS + number, b"k%d" % number, b"v%d" % number, []) for number in range(20)]
    with InProcessBroker(tmp_path) as broker:
        assert Asking(broker.port).create("t", 1) == 0
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=GROUP)
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek(TopicPartition("t", 0), 0)
        consumer.commit()
        consumer.close()
    [offsets] = [path for path in tmp_path.glob("**/__consumer_offsets-*/*.log") if path.stat().st_size]
    key = OffsetCommitKey(group=GROUP, topic="t", partition=0)
    value = OffsetCommitValue(offset=13, metadata="", commit_timestamp=NOW_MS * 10)
    commit = Record(0, NOW_MS, encode_key(key), encode_value(value, 1), [])
    replace_log(tmp_path, offsets.parent.name, messages(magic, [commit], codec))
    replace_log(tmp_path, "t-0", messages(magic, records, codec))
    with InProcessBroker(tmp_path) as broker:
        asking = Asking(broker.port)
        assert asking.fetch("t", 0, 5) == (0, [record.value for record in records[5:]])
        with KafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            assert producer.send("t", b"new").get(10).offset == 20
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=GROUP)
        partition = TopicPartition("t", 0)
        consumer.assign([partition])
        assert consumer.committed(partition) == 13
        found: list[bytes] = []
        while len(found) < 8:
            found += [record.value for record in consumer.poll(10_000).get(partition, [])]
        assert found == [*(record.value for record in records[13:]), b"new"]
        by_time = consumer.offsets_for_times({partition: NOW_MS + 4})[partition]
        assert (by_time.offset if by_time else None) == (4 if magic else 20)
        consumer.close()
