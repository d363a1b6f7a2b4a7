"""Segments that our log wrote: Kafka's tool prints the same lines. Also the flags."""

import random
from pathlib import Path

import pytest

from odradek.__main__ import COMMANDS
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.dump_log import Dump, comma_separated, kafka_dump
from support.data.log_histories import HistoryWriter
from support.data.log_model import records_of
from support.kafka.java import java_or_skip

SEED = 20261121
KINDS = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition with plain, idempotent and transactional records in every codec, in several segments."""
    directory = tmp_path_factory.mktemp("history") / "t-0"
    writer = HistoryWriter(random.Random(SEED), directory, config=LogConfig(index_interval_bytes=200))
    writer.write(150)
    writer.close()
    return directory


def files(directory: Path, *kinds: str) -> list[Path]:
    found = sorted(path for path in directory.iterdir() if path.suffix in kinds)
    assert found
    return found


@pytest.mark.java
@pytest.mark.parametrize(
    ("flags", "kinds"),
    [
        ((), (".log",)),
        (("--print-data-log",), (".log",)),
        (("--deep-iteration", "--skip-record-metadata"), (".log",)),
        (("--print-data-log", "--skip-record-metadata"), (".log",)),
        (("--deep-iteration", "--max-bytes", "3000"), (".log",)),
        ((), KINDS[1:]),
        (("--verify-index-only",), (".index", ".timeindex")),
        (("--index-sanity-check",), (".index", ".timeindex")),
    ],
)
def test_lines_are_those_of_kafkas_tool(
    history: Path, dump: Dump, flags: tuple[str, ...], kinds: tuple[str, ...]
) -> None:
    java_or_skip()
    arguments = [*flags, "--files", comma_separated(files(history, *kinds))]
    theirs, ours = kafka_dump(*arguments), dump(*arguments)
    assert theirs.code == 0, theirs.err
    assert (ours.code, ours.err) == (0, []), SEED
    assert ours.out == theirs.out, SEED


def test_every_record_is_in_the_json(history: Path, dump: Dump) -> None:
    logs = files(history, ".log")
    expected = [
        (record.offset, record.timestamp, [name for name, _ in record.headers])
        for path in logs
        for record in records_of(path.read_bytes())
    ]
    found = dump("--json", "--print-data-log", *logs)
    assert found.code == 0
    records = [document for document in found.documents if document["type"] == "record"]
    names = [
        (record["offset"], record["timestamp"], [header["key"] for header in record["headers"]]) for record in records
    ]
    assert names == expected
    assert {record["control"]["type"] for record in records if "control" in record} == {"ABORT", "COMMIT"}
    codecs = {document["compression"] for document in found.documents if document["type"] == "batch"}
    assert codecs == {"none", "gzip", "snappy", "lz4", "zstd"}


@pytest.mark.java
def test_odd_keys_and_values_look_as_with_kafkas_tool(tmp_path: Path, dump: Dump) -> None:
    java_or_skip()
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=1000)
    contents = [b"", None, b"\xff\xfe", b"\xed\xa0\x80", "wörld\x85\u2028 \U0001f600".encode(), b"\xe2\x82", b"a\rb\0"]
    contents += [b"\xed\xa0A", b"\xed\xbf", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xc0\x80\xf8", b"\xe0\x80A"]
    records = [
        Record(number, 1000, key, contents[-number - 1], [("é,", None), ("", b"\xff")] if number % 2 else [])
        for number, key in enumerate(contents)
    ]
    log.appender.append_as_leader(encode_batch(records), 0, 1000)
    log.close()
    arguments = ["--print-data-log", "--files", str(next((tmp_path / "t-0").glob("*.log")))]
    theirs, ours = kafka_dump(*arguments), dump(*arguments)
    assert ours.out == theirs.out
    found = dump("--json", *arguments).documents[2:]
    assert found[2]["key"] == {"base64": "//4="}
    assert found[1]["key"] is None
    assert found[1]["headers"] == [{"key": "é,", "value": None}, {"key": "", "value": {"base64": "/w=="}}]


def test_files_may_be_named_in_every_way(history: Path, dump: Dump) -> None:
    one, two, three = files(history, ".log")[:3]
    lines = [line for line in dump("--files", f"{one},{two}", "--files", three).out if line.startswith("Dumping")]
    assert lines == [f"Dumping {path}" for path in (one, two, three)]
    assert dump("--files", one, two, three).out == dump("--files", f"{one},{two},{three}").out


def test_a_file_of_another_kind_is_ignored_as_kafka_does(history: Path, dump: Dump) -> None:
    found = dump("--files", history / "leader-epoch-checkpoint")
    assert (found.code, found.out) == (0, [])
    assert found.err == [f"Ignoring unknown file {history / 'leader-epoch-checkpoint'}"]


@pytest.mark.parametrize(
    ("name", "said"), [(".", "Is a directory; name its files, such as "), ("nosuch", "No such file")]
)
def test_a_name_that_is_no_file_is_an_error(history: Path, dump: Dump, name: str, said: str) -> None:
    found = dump("--files", history / name)
    assert (found.code, found.out) == (1, [])
    assert f"odradek dump-log: {history / name}: {said}" in " ".join(found.err)


@pytest.mark.parametrize("option", ["--key-decoder-class", "--value-decoder-class"])
def test_java_classes_are_refused_in_words(dump: Dump, option: str) -> None:
    found = dump(option, "org.example.Decoder", "--files", "0.log")
    assert found.code == 2
    assert "is not supported: Java classes cannot run here" in " ".join(found.err)


def test_files_are_required(dump: Dump) -> None:
    found = dump("--deep-iteration")
    assert found.code == 2
    assert "--files" in found.err[-1]


def test_the_command_is_in_the_list() -> None:
    assert COMMANDS["dump-log"][0] == "odradek.storage.dump.command:dump_log"
