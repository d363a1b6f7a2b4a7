"""``--bytes`` shows the bytes of each field. Number decoders and tiered storage, compared with Kafka's tool."""

from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.codec import encode
from odradek.protocol.messages.remote_log_records import (
    RemoteLogSegmentMetadataRecord,
    RemoteLogSegmentMetadataSnapshotRecord,
    RemoteLogSegmentMetadataUpdateRecord,
    RemotePartitionDeleteMetadataRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.dump.command import command
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.dump_log import Dump, kafka_dump
from support.kafka.java import java_or_skip

NUMBERS = [b"\0\0\0\7", b"\xff\xff\xff\xff", b"\0\0\0\0\0\0\0\7", b"\xff" * 8]


def write(directory: Path, *records: Record, codec: CompressionType = CompressionType.NONE) -> Path:
    log = Log.open(directory, LogConfig(index_interval_bytes=0), now_ms=1000)
    for _ in range(2):
        log.appender.append_as_leader(encode_batch(list(records), compression=codec), 0, 1000)
    log.appender.append_as_leader(
        encode_batch(list(records), producer_id=7, producer_epoch=0, base_sequence=0), 0, 1000
    )
    log.close()
    return directory / f"{0:020d}.log"


def fields(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [field for document in documents if document["type"] == "bytes" for field in document["fields"]]


def test_every_byte_of_a_log_has_its_field(tmp_path: Path, dump: Dump) -> None:
    log = write(tmp_path / "t-0", Record(0, 1000, b"k", b"value", [("h", None), ("é", b"2")]))
    found = dump("--bytes", "--deep-iteration", "--json", log)
    assert found.code == 0
    position = 0
    for field in fields(found.documents):
        # A field with inner fields begins where they begin, or with their count.
        assert field["at"] in (position, position - 1) or field["depth"], field
        if field["type"] in ("[]header", "header"):
            position = field["at"] + (field["type"] == "[]header")
            continue
        assert field["at"] == position, field
        position += field["size"]
    assert position == log.stat().st_size
    names = [field["field"] for field in fields(found.documents)]
    assert names[:3] == ["base_offset", "batch_length", "partition_leader_epoch"]
    assert {"headers[0].key", "headers[1].value", "timestamp_delta"} <= set(names)


def test_the_table_says_place_bytes_and_value(tmp_path: Path, dump: Dump) -> None:
    log = write(tmp_path / "t-0", Record(0, 1000, b"k", None, []))
    lines = [line.split() for line in dump("--bytes", "--print-data-log", log).out]
    assert ["0", "0000000000000000", "base_offset", "0"] in lines
    assert ["16", "02", "magic", "2"] in lines
    assert ["21", "0000", "attributes", "CREATE_TIME,", "NONE"] in lines
    assert ["65", "026b", "key", "1", "bytes"] in lines
    assert ["67", "01", "value", "null"] in lines


def test_compressed_records_are_taken_apart_where_they_decompress(tmp_path: Path, dump: Dump) -> None:
    records = [Record(number, 1000, None, b"v" * 50, []) for number in range(3)]
    log = write(tmp_path / "t-0", *records, codec=CompressionType.ZSTD)
    out = dump("--bytes", "--deep-iteration", log).out
    assert sum(line.strip() == "offset  bytes" or "(decompressed)" in line for line in out) == 6
    documents = dump("--bytes", "--deep-iteration", "--json", log).documents
    places = [document["fields"][0]["at"] for document in documents if document.get("where") == "decompressed"]
    assert places[:3] == places[3:]
    assert places[0] == 0
    assert places[1] > 50


def test_a_message_in_a_record_is_taken_apart_too(tmp_path: Path, dump: Dump) -> None:
    value = bytes.fromhex("010200 03 7431 101112131415161718191a1b1c1d1e1f 00".replace(" ", ""))
    log = write(tmp_path / "t-0", Record(0, 1000, None, value, []))
    found = fields(dump("--bytes", "--cluster-metadata-decoder", "--json", log).documents)
    start = next(field for field in found if field["field"] == "value")
    name = next(field for field in found if field["field"] == "name")
    assert (name["at"], name["size"], name["value"]) == (start["at"] + 1 + 3, 3, "'t1'")
    topic_id = next(field for field in found if field["field"] == "topic_id")
    assert (topic_id["at"], topic_id["size"], topic_id["depth"]) == (name["at"] + 3, 16, 1)
    log = write(
        tmp_path / "o-0", Record(0, 1000, bytes.fromhex("0001 0001 67 0001 74 00000005".replace(" ", "")), None, [])
    )
    found = fields(dump("--bytes", "--offsets-decoder", "--json", log).documents)
    group = next(field for field in found if field["field"] == "group")
    key = next(field for field in found if field["field"] == "key")
    assert (group["at"], group["value"]) == (key["at"] + 1 + 2, "'g'")


@pytest.mark.parametrize(("suffix", "entry_bytes"), [("index", 8), ("timeindex", 12)])
def test_entries_of_indexes_are_taken_apart(tmp_path: Path, dump: Dump, suffix: str, entry_bytes: int) -> None:
    log = write(tmp_path / "t-0", Record(0, 1000, None, b"v", []))
    path = log.with_suffix(f".{suffix}")
    found = fields(dump("--bytes", "--json", path).documents)
    assert sum(field["size"] for field in found) == path.stat().st_size >= entry_bytes
    assert [field["at"] for field in found] == sorted(field["at"] for field in found)


def test_a_snapshot_is_taken_apart(tmp_path: Path, dump: Dump) -> None:
    write(tmp_path / "t-0", Record(0, 1000, None, b"v", []))
    [path] = (tmp_path / "t-0").glob("*.snapshot")
    found = fields(dump("--bytes", "--json", path).documents)
    by_name = {field["field"]: field for field in found}
    assert by_name["producer_entries[0].producer_id"]["at"] == 10
    assert by_name["producer_entries[0].producer_id"]["value"] == "7"
    assert by_name["crc"]["size"] == 4


# Compared with Kafka's tool ---------------------------------------------------------


@pytest.mark.java
@pytest.mark.parametrize(("key", "value"), [("IntegerDecoder", "IntegerDecoder"), ("StringDecoder", "IntegerDecoder")])
def test_numbers_are_those_of_kafkas_decoders(tmp_path: Path, dump: Dump, key: str, value: str) -> None:
    java_or_skip()
    log = write(tmp_path / "t-0", *(Record(number, 1000, data, data, []) for number, data in enumerate(NUMBERS)))
    package = "org.apache.kafka.tools.api."
    arguments = ["--print-data-log", "--key-decoder-class", package + key, "--value-decoder-class", package + value]
    theirs, ours = kafka_dump(*arguments, "--files", log), dump(*arguments, "--files", log)
    assert ours.out == theirs.out
    assert "payload: -1" in ours.out[-1]


def test_a_long_is_eight_bytes_and_fewer_are_said(tmp_path: Path, dump: Dump) -> None:
    log = write(tmp_path / "t-0", *(Record(number, 1000, None, data, []) for number, data in enumerate(NUMBERS)))
    found = dump("--json", "--print-data-log", "--value-decoder-class", "LongDecoder", log)
    records = [document for document in found.documents if document["type"] == "record"]
    assert [record.get("value") for record in records[:4]] == [None, None, 7, -1]
    assert "expected a number of 8 bytes, found 4 bytes" in records[0]["fault"]
    assert found.code == 0, "the bytes are not damaged: they are no numbers"


def tiered_records() -> list[Message]:
    """Every record type and state of ``__remote_log_metadata``."""
    segment, update = RemoteLogSegmentMetadataRecord, RemoteLogSegmentMetadataUpdateRecord
    delete, snapshot = RemotePartitionDeleteMetadataRecord, RemoteLogSegmentMetadataSnapshotRecord
    topic, its_id = bytes(range(16)), bytes(range(16, 32))
    made: list[Message] = []
    for state in range(4):
        epochs = [segment.SegmentLeaderEpochEntry(3, 5), segment.SegmentLeaderEpochEntry(1, 7)]
        for custom in (None, b"", b"\x01\xff"):
            of = segment.RemoteLogSegmentIdEntry(segment.TopicIdPartitionEntry("t", topic, 3), its_id)
            made.append(segment(of, 5, 10, 1, 1000, 2000, epochs, 999, custom, state, bool(state % 2)))
        updated = update.RemoteLogSegmentIdEntry(update.TopicIdPartitionEntry("t", topic, 3), its_id)
        made.append(update(updated, 1, 2000, b"\x01" if state % 2 else None, state))
        if state < 3:
            made.append(delete(delete.TopicIdPartitionEntry("t", topic, 3), 1, 2000, state))
        entries = [snapshot.SegmentLeaderEpochEntry(0, 5)]
        made.append(snapshot(its_id, 5, 10, 1, 1000, 2000, entries, 999, None, state))
    return made


@pytest.mark.java
def test_tiered_storage_records_are_printed_as_kafkas_tool_does(tmp_path: Path, dump: Dump) -> None:
    java_or_skip()
    values = [bytes((1, message.API_KEY, 0)) + encode(message, 0) for message in tiered_records()]
    log = write(tmp_path / "t-0", *(Record(number, 1000, None, value, []) for number, value in enumerate(values)))
    arguments = ["--remote-log-metadata-decoder", "--files", str(log)]
    theirs, ours = kafka_dump(*arguments), dump(*arguments)
    assert ours.out == theirs.out
    assert sum("payload: RemoteLogSegmentMetadata{" in line for line in ours.out) == 36


def test_a_state_without_a_name_is_shown_as_its_number(tmp_path: Path, dump: Dump) -> None:
    message = RemotePartitionDeleteMetadataRecord(
        RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry("t", bytes(16), 0), remote_partition_delete_state=9
    )
    log = write(tmp_path / "t-0", Record(0, 1000, None, bytes((1, 2, 0)) + encode(message, 0), []))
    assert "state=unknown(9), eventTimestampMs=0" in dump("--remote-log-metadata-decoder", log).out[3]


@pytest.mark.java
def test_every_flag_of_kafkas_tool_is_known(dump: Dump) -> None:
    java_or_skip()
    help_lines = [line.split() for stream in kafka_dump("--help")[1:] for line in stream]
    theirs = {words[0] for words in help_lines if words and words[0].startswith("--") and words[0].strip("-")}
    ours = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    assert len(theirs) >= 16
    assert theirs <= ours, theirs - ours
