"""The message table as typed specs, and the families of messages."""

import json
from importlib import resources

import pytest

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.apis.table import FOREVER, NO_VERSIONS, VersionRange, message, messages, snake_case
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.generate.__main__ import DIRECTORY, generated
from odradek.protocol.generate.classes import FIELD_NOTES
from odradek.protocol.messages import FAMILIES, message_class


@pytest.mark.parametrize(
    ("text", "versions"),
    [("0+", (0, FOREVER)), ("2", (2, 2)), ("1-4", (1, 4)), ("none", (0, -1)), (None, (0, -1))],
)
def test_version_ranges(text: str | None, versions: tuple[int, int]) -> None:
    parsed = VersionRange.parse(text)
    assert (parsed.lowest, parsed.highest) == versions
    assert str(parsed) == (text or "none")
    assert (versions[0] in parsed) == bool(parsed)
    assert -1 not in parsed
    assert not NO_VERSIONS


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("GroupInstanceId", "group_instance_id"),
        ("TopicIds", "topic_ids"),
        ("timeoutMs", "timeout_ms"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("KRaftVersion", "k_raft_version"),
        ("From", "from_"),
    ],
)
def test_attribute_names(name: str, attribute: str) -> None:
    assert snake_case(name) == attribute


def test_every_message_of_both_files_is_taken_in() -> None:
    specs = {spec.name: spec for spec in messages()}
    data = resources.files("odradek.protocol.apis").joinpath("data")
    current = json.loads(data.joinpath("messages.json").read_text())
    old = json.loads(data.joinpath("messages-old.json").read_text())
    assert set(specs) == set(current) == set(FAMILIES)
    assert set(old) <= set(current)
    for name, definition in current.items():
        assert specs[name].versions.highest == VersionRange.parse(definition["validVersions"]).highest
    for name, definition in old.items():
        assert specs[name].versions.lowest == VersionRange.parse(definition["validVersions"]).lowest
    assert sum(len(list(spec.versions)) for spec in specs.values()) == 802


def test_an_old_version_has_the_layout_of_the_old_release() -> None:
    spec = message("ListOffsetsRequest")
    assert (spec.versions.lowest, spec.versions.highest) == (0, 11)
    partition = "ListOffsetsPartition"
    assert "MaxNumOffsets" in [f.name for f in spec.layout(0).structures[partition].plain_fields(0)]
    assert "MaxNumOffsets" not in [f.name for f in spec.layout(1).structures[partition].fields]
    # The class has both. Old fields come last, so that positions are those of the current release.
    assert spec.structures()[partition].fields[-1].name == "MaxNumOffsets"
    with pytest.raises(KeyError):
        spec.layout(12)


def test_tagged_fields_without_versions_are_there_in_their_tagged_versions() -> None:
    value = message("TransactionLogValue")
    assert [f.name for f in value.layout(0).structures[value.name].tagged_fields(0)] == []
    tagged = value.layout(1).structures[value.name].tagged_fields(1)
    assert [f.tag for f in tagged] == [0, 1, 2, 3]
    assert [f.default for f in tagged] == [-1, -1, 0, -1]


def test_defaults_are_values() -> None:
    fields = {f.name: f for f in message("FetchRequest").layout(17).structures["FetchRequest"].fields}
    assert fields["MaxBytes"].default == 0x7FFFFFFF
    assert fields["ClusterId"].default is None
    topics = message("MetadataRequest").layout(1).structures["MetadataRequest"].fields[0]
    assert topics.default == []


def test_structures_are_not_recursive() -> None:
    for spec in messages():
        for layout in spec.layouts:
            inner = {s.name: {f.element for f in s.fields if f.is_structure} for s in layout.structures.values()}
            # Removes structures that no other contains until none remains. A cycle would remain.
            while inner:
                leaves = {name for name, names in inner.items() if not names & set(inner)}
                assert leaves, f"{spec.name}: {inner}"
                inner = {name: names for name, names in inner.items() if name not in leaves}


def test_generated_classes_are_current() -> None:
    for name, text in generated().items():
        assert (DIRECTORY / name).read_text() == text, f"{name} is not current: run `make messages`"
    written = {path.name for path in DIRECTORY.glob("*.py")} - {"structure.py"}
    assert written == set(generated())


def test_each_note_is_about_a_field() -> None:
    structures = (structure for spec in messages() for structure in spec.structures().values())
    assert FIELD_NOTES.keys() <= {field.attribute for structure in structures for field in structure.fields}


def test_every_class_says_what_the_table_says() -> None:
    for spec in messages():
        cls = message_class(spec.name)
        assert (cls.__name__, cls.NAME, cls.API_KEY) == (spec.name, spec.name, spec.api_key)
        assert (spec.versions.lowest, spec.versions.highest) == cls.VERSIONS
        for name, structure in spec.structures().items():
            holder = cls if name == spec.name else getattr(cls, name)
            attributes = [field.attribute for field in structure.fields]
            assert holder.__slots__ == tuple(attributes)


def test_every_api_has_its_classes() -> None:
    for key in ApiKey:
        description = api(key)
        assert description.key is key
        assert {description.request_class().API_KEY, description.response_class().API_KEY} == {key}
        assert description.versions == description.request_class().VERSIONS
        assert description.name.upper() == key.name.replace("_", "")
    assert api(ApiKey.INIT_PRODUCER_ID).latest_version_unstable
    assert api(ApiKey.LEADER_AND_ISR).versions == (0, -1)
    with pytest.raises(KeyError):
        api(95)
    with pytest.raises(KeyError):
        message("NoSuchRequest")


def test_error_codes_have_kafkas_text() -> None:
    assert sorted(ErrorCode) == list(range(-1, 137))
    assert all(code.message or code is ErrorCode.NONE for code in ErrorCode)
    assert ErrorCode.NOT_COORDINATOR.retriable
    assert not ErrorCode.ILLEGAL_GENERATION.retriable
    error = KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    assert str(error) == "UNKNOWN_MEMBER_ID: The coordinator is not aware of this member."
    assert KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, "no m").message == "no m"
