"""Messages as Kafka's JSON: fields by version, Jackson's text, Java's numbers."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.group_records import ConsumerProtocolSubscription, OffsetCommitValue
from odradek.protocol.messages.metadata_records import BrokerRegistrationChangeRecord, TopicRecord
from odradek.protocol.show.message_documents import document, java_double, kafka_json, read_document
from support.data.messages import every_version, random_message, seed_of, to_json


def test_a_tagged_field_is_shown_only_when_it_is_not_the_default() -> None:
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, fenced=-1)
    assert document(change, 1) == {"brokerId": 1, "brokerEpoch": 2, "fenced": -1}
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, cordoned_log_dirs=[])
    assert document(change, 3) == {"brokerId": 1, "brokerEpoch": 2, "cordonedLogDirs": []}


def test_fields_follow_the_version() -> None:
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=7)
    assert document(value, 0) == {"offset": 5, "metadata": "m", "commitTimestamp": 7}
    assert list(document(value, 3)) == ["offset", "leaderEpoch", "metadata", "commitTimestamp"]


def test_bytes_and_ids_are_base64() -> None:
    assert document(TopicRecord(name="t", topic_id=bytes(15) + b"\xff"), 0)["topicId"] == "AAAAAAAAAAAAAAAAAAAA_w"
    assert document(ConsumerProtocolSubscription(topics=[], user_data=b"\xff\xef"), 0)["userData"] == "/+8="


@pytest.mark.parametrize("seed", range(3))
def test_every_message_and_version_as_the_converters_have_it(seed: int) -> None:
    for cls, version in every_version():
        made = random_message(cls, version, seed_of(seed, cls.NAME, version))
        assert document(made, version) == to_json(made, version), (seed, cls.NAME, version)


@pytest.mark.parametrize("seed", range(3))
def test_a_document_is_read_back_as_the_message_that_it_shows(seed: int) -> None:
    for cls, version in every_version():
        made = random_message(cls, version, seed_of(seed, cls.NAME, version), unknown_tags=False)
        assert read_document(cls, version, document(made, version)) == made, (seed, cls.NAME, version)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({"offset": 5, "metadata": "m"}, "this field is missing (OffsetCommitValue.commitTimestamp)"),
        ({"offset": "5", "metadata": "m", "commitTimestamp": 7}, "this must be a int64, not '5'"),
        ({"offset": True, "metadata": "m", "commitTimestamp": 7}, "this must be a int64, not True"),
        (
            {"offset": 5, "metadata": "m", "commitTimestamp": 7, "leaderEpoch": 1},
            "version 0 has no such field (OffsetCommitValue.leaderEpoch)",
        ),
        ([], "this must be an object (OffsetCommitValue)"),
    ],
)
def test_a_document_that_is_not_the_message_is_refused_with_the_path(found: dict[str, object], problem: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        read_document(OffsetCommitValue, 0, found)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1234.5, "1234.5"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.5e9, "-1.5E9"),
        (0.0001, "1.0E-4"),
        (1.25e-5, "1.25E-5"),
        (1e100, "1.0E100"),
        (1e23, "1.0E23"),
        (1.5e23, "1.5E23"),
        (12345678.9, "1.23456789E7"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_numbers_look_as_in_java(number: float, text: str) -> None:
    assert java_double(number) == text


def test_control_characters_are_escaped_as_jackson_does() -> None:
    found = kafka_json({"a": '\x01\x1f\x7f"\\/<é\u2028\n\t\b\f\r'})
    assert found == '{"a":"\\u0001\\u001F\x7f\\"\\\\/<é\u2028\\n\\t\\b\\f\\r"}'
    assert kafka_json({"n": None, "t": True, "f": [1, 2.0, math.nan]}) == '{"n":null,"t":true,"f":[1,2.0,"NaN"]}'


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_what_is_printed_is_json_of_the_same_value(value: object) -> None:
    assert json.loads(kafka_json(value)) == value
