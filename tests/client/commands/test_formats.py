"""Lines become records and records become lines, by Kafka's properties. Timestamps, durations, encoded assignments."""

import json

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.commands.configs import split_configs
from odradek.client.commands.consume_options import parse_moment
from odradek.client.commands.get_offsets import parse_time, partition_filter
from odradek.client.commands.groups.reset_target import parse_datetime, parse_duration_ms
from odradek.client.commands.lines import LineError, LineFormat
from odradek.client.commands.record_format import RecordFormat
from odradek.client.group.classic_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from odradek.client.types import ConsumerRecord, TopicPartition
from odradek.protocol.errors import ProtocolError
from odradek.protocol.exchange import SOFTWARE_VERSION

KEYS = {"parse.key": "true", "key.separator": ":"}
HEADERS = {"parse.headers": "true"}


@pytest.mark.parametrize(
    ("properties", "line", "expected"),
    [
        ({}, b"a:b", (None, b"a:b", [])),
        (KEYS, b"a:b:c", (b"a", b"b:c", [])),
        (KEYS, b":b", (b"", b"b", [])),
        (KEYS | {"null.marker": "NULL"}, b"NULL:NULL", (None, None, [])),
        (KEYS | {"null.marker": ""}, b"a:", (b"a", None, [])),
        (KEYS | {"ignore.error": "true"}, b"plain", (None, b"plain", [])),
        (HEADERS, b"a:1,b:2\tv", (None, b"v", [("a", b"1"), ("b", b"2")])),
        (HEADERS | {"null.marker": "-"}, b"-\tv", (None, b"v", [])),
        (KEYS | HEADERS | {"null.marker": "-"}, b"h:-\tk:v", (b"k", b"v", [("h", None)])),
    ],
)
def test_lines(properties: dict[str, str], line: bytes, expected: object) -> None:
    assert LineFormat.of(properties).parse(line, 1) == expected


@pytest.mark.parametrize(
    ("properties", "line", "said"),
    [
        (KEYS, b"plain", "No key separator found on line number 9: 'plain'"),
        (HEADERS, b"a:1", "No headers delimiter found on line number 9: 'a:1'"),
        (HEADERS, b"a1\tv", "No header key separator found in pair 'a1' on line number 9"),
        (
            HEADERS | {"null.marker": "-"},
            b"-:1\tv",
            "Header keys should not be equal to the null marker on line number 9",
        ),
    ],
)
def test_lines_that_lack_a_part(properties: dict[str, str], line: bytes, said: str) -> None:
    with pytest.raises(LineError) as caught:
        LineFormat.of(properties).parse(line, 9)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"parse.keys": "true"}, "unknown property parse.keys"),
        ({"headers.separator": ":"}, "headers.separator and headers.key.separator may not be equal"),
        ({"null.marker": "\t"}, "null.marker and key.separator may not be equal"),
        ({"key.separator": ""}, "key.separator may not be empty"),
    ],
)
def test_properties_that_contradict(properties: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LineFormat.of(properties)


RECORD = ConsumerRecord("t", 3, 42, 1700, 0, b"k", None, [("a", b"1"), ("b", None)], 7)


def test_records_are_printed_in_kafkas_order() -> None:
    everything = RecordFormat.of(
        {f"print.{what}": "true" for what in ("key", "offset", "partition", "timestamp", "headers", "epoch")}
    )
    assert everything.line(RECORD) == b"CreateTime:1700\tPartition:3\tOffset:42\tEpoch:7\ta:1,b:null\tk\tnull\n"
    appended = RECORD._replace(timestamp_type=1, headers=[], value=b"\xff")
    assert everything.line(appended) == b"LogAppendTime:1700\tPartition:3\tOffset:42\tEpoch:7\tNO_HEADERS\tk\t\xff\n"
    assert RecordFormat.of({"null.literal": "nil", "line.separator": ";"}).line(RECORD) == b"nil;"
    with pytest.raises(ValueError, match=r"unknown property print\.keys"):
        RecordFormat.of({"print.keys": "true"})


def test_json_keeps_every_byte() -> None:
    document = json.loads(RecordFormat().json_line(RECORD._replace(value=b"\xff\x00", key="ü".encode())))
    assert (document["key"], document["value"]) == ("ü", {"base64": "/wA="})
    assert document["headers"] == [{"key": "a", "value": "1"}, {"key": "b", "value": None}]


def test_times_and_durations() -> None:
    assert parse_time("earliest") == -2
    assert parse_time("1700") == 1700
    assert parse_moment("1700") == 1700
    assert parse_moment("1970-01-01T00:00:01+00:00") == 1000
    assert parse_datetime("1970-01-01T00:00:01.500") == 1500
    assert parse_datetime("1970-01-01T01:00:00+01:00") == 0
    assert parse_duration_ms("P1DT2H3M4.5S") == ((26 * 60 + 3) * 60 + 4) * 1000 + 500
    assert parse_duration_ms("PT1H") == 3_600_000
    for parse, wrong in ((parse_time, "soon"), (parse_moment, "soon"), (parse_datetime, "x"), (parse_duration_ms, "P")):
        with pytest.raises(click.UsageError):
            parse(wrong)


def test_partition_filters_and_config_lists() -> None:
    rules = [(pattern.pattern, first, end) for pattern, first, end in partition_filter("a:0,b:2-4,c:3-,d,:1")]
    assert rules == [("a", 0, 1), ("b", 2, 4), ("c", 3, 2**31), ("d", 0, 2**31), (".*", 1, 2)]
    assert split_configs("a=1,b=[x,y],c=") == {"a": "1", "b": "x,y", "c": ""}
    with pytest.raises(click.UsageError, match="key=val"):
        split_configs("a")


PARTITIONS = st.lists(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 99)), unique=True, max_size=10
)


@given(st.lists(st.text(min_size=1, max_size=5), unique=True), PARTITIONS, st.integers(-1, 99))
def test_subscriptions_and_assignments_survive_the_wire(
    topics: list[str], partitions: list[TopicPartition], generation: int
) -> None:
    decoded = decode_subscription(encode_subscription(topics, partitions, generation), "instance")
    assert (decoded.topics, decoded.generation_id, decoded.group_instance_id) == (
        sorted(topics),
        generation,
        "instance",
    )
    assert sorted(decoded.owned_partitions) == sorted(partitions)
    assert sorted(decode_assignment(encode_assignment(partitions))) == sorted(partitions)


def test_consumer_protocol_bytes_are_kafkas() -> None:
    # Version 0: version, one topic "t" with partitions 1 and 2, null user data.
    assert decode_assignment(bytes.fromhex("0000 00000001 000174 00000002 00000001 00000002 ffffffff")) == [
        TopicPartition("t", 1),
        TopicPartition("t", 2),
    ]
    assert decode_subscription(bytes.fromhex("0000 00000001 000174 ffffffff")).topics == ["t"]
    assert encode_assignment([TopicPartition("t", 1)]).hex() == "0003000000010001740000000100000001ffffffff"
    assert decode_assignment(b"") == []
    for wrong in (b"\x00", b"\xff\xff", b"\x00\x00\x00"):
        with pytest.raises(ProtocolError):
            decode_assignment(wrong)


def test_the_client_names_the_packages_version() -> None:
    from importlib.metadata import version

    assert version("odradek") == SOFTWARE_VERSION
