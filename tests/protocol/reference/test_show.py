"""The commands of `odradek protocol` print the content of the table."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.protocol import codec
from odradek.protocol.apis import table
from odradek.protocol.codec import header
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.groups import HeartbeatRequest
from odradek.protocol.show import show
from odradek.protocol.show.command import protocol
from support.each import each

HEARTBEAT = "026700000003026d0000"
"""Heartbeat v4 of group g, generation 3, member m, as Apache Kafka writes it."""


@each("spec", [s for s in table.messages() if s.versions], ids=lambda spec: spec.name)
def test_every_field_of_a_version_is_printed(spec: table.MessageSpec) -> None:
    everything = {line.name for line in show.lines(spec)}
    for version in spec.versions:
        printed = [line.name for line in show.lines(spec, version)]
        structure = spec.layout(version).structures[spec.name]
        top = [field.name for field in (*structure.plain_fields(version), *structure.tagged_fields(version))]
        assert set(top) <= set(printed) <= everything
        assert len(show.tree(spec, version)) == len(printed)


def test_versions_of_a_field_are_those_that_have_it() -> None:
    fields = {line.name: line for line in show.lines(table.message("FetchRequest")) if line.depth == 0}
    assert (fields["ReplicaId"].versions, fields["SessionId"].versions, fields["MaxWaitMs"].versions) == (
        "0-14",
        "7+",
        "",
    )
    assert fields["ClusterId"].notes == "tag 0, nullable, default null, ignorable"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = protocol(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_show_prints_request_and_response(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "Produce", "9")
    assert code == 0
    assert out.startswith("ProduceRequest: api key 0, versions 0-13, flexible from 9, on broker; version 9:\n")
    assert "\n\nProduceResponse: api key 0" in out
    assert "\n      Records      records                 nullable\n" in out
    assert "TopicId" not in out, "that came with version 13"
    assert run(capsys, "show", "0", "9")[1] == out
    assert run(capsys, "show", "produce", "9", "--request")[1] == out.partition("\n\n")[0] + "\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "Prodcue"), "no message is called 'Prodcue'; did you mean Produce"),
        (("show", "Vote", "7"), "VoteRequest has versions 0-2, not 7"),
        (("show", "TopicRecord", "--request"), "topicrecord is not a request"),
        (("show", "Produce", "--bytes", "00"), "--bytes needs a VERSION"),
        (("show", "Produce", "9", "--bytes", "no-such-file"), "neither a file nor hexadecimal digits"),
        (("show",), "Missing argument 'NAME'"),
    ],
    ids=["name", "version", "kind", "no version", "bytes", "nothing"],
)
def test_misuse_is_said_in_words(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("spelling", [HEARTBEAT, HEARTBEAT.upper(), "02 67 00 00 00 03 02 6d 00 00"])
def test_bytes_given_as_digits(capsys: pytest.CaptureFixture[str], spelling: str) -> None:
    code, out, _ = run(capsys, "show", "Heartbeat", "4", "--bytes", spelling)
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["0", "0267", "group_id", "'g'"],
        ["2", "00000003", "generation_id", "3"],
        ["6", "026d", "member_id", "'m'"],
        ["8", "00", "group_instance_id", "null"],
        ["9", "00", "tagged_fields", "none"],
    ]


def test_bytes_from_a_file_and_from_standard_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = codec.encode(HeartbeatRequest("spool\xe9", 3, "m"), 4)
    expected = run(capsys, "show", "Heartbeat", "4", "--bytes", data.hex())
    for content in (data, data.hex().encode() + b"\n"):
        (tmp_path / "body").write_bytes(content)
        assert run(capsys, "show", "Heartbeat", "4", "--bytes", str(tmp_path / "body")) == expected
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert run(capsys, "show", "Heartbeat", "4", "--bytes", "-") == expected


def test_long_digits_are_no_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    data = codec.encode(HeartbeatRequest("g" * 5000, 3, "m"), 4)
    assert run(capsys, "show", "Heartbeat", "4", "--bytes", data.hex())[0] == 0


def test_bytes_that_are_no_such_message_end_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "show", "Heartbeat", "4", "--bytes", HEARTBEAT[:-6])
    assert code == 1
    assert out.splitlines()[-1].split()[:3] == ["6", "02", "member_id"]
    assert err == "odradek protocol: member_id: the length is 1 bytes, only 0 are left, in the field at byte 6\n"


def test_a_frame_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    frame = header.encode_request(HeartbeatRequest("g", 3, "m"), 4, 5, "me")
    code, out, _ = run(capsys, "show", "Heartbeat", "4", "--frame", "--json", "--bytes", frame.hex())
    assert code == 0
    found = json.loads(out)
    assert (found["message"], found["version"], found["fault"]) == ("HeartbeatRequest", 4, None)
    assert {"path": "header.client_id", "type": "string", "start": 12, "end": 16, "value": "'me'"} in found["fields"]


def test_list_names_every_api(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert len(out.splitlines()) == 1 + 95
    listed = json.loads(run(capsys, "list", "--json")[1])
    assert listed[0] == {"key": "0", "name": "Produce", "versions": "0-13", "flexible": "9+", "listeners": "broker"}


def test_find_takes_any_spelling_and_helps() -> None:
    assert [spec.name for spec in show.find("18")] == ["ApiVersionsRequest", "ApiVersionsResponse"]
    assert [spec.name for spec in show.find("offsetcommitVALUE")] == ["OffsetCommitValue"]
    with pytest.raises(ProtocolError, match="did you mean Fetch"):
        show.find("Fetsh")


def test_construct_is_imported_only_where_bytes_are_taken_apart() -> None:
    program = (
        "import sys\n"
        "from odradek.protocol.show.command import protocol\n"
        "from odradek.protocol.codec import header\n"
        "assert protocol(['show', 'Produce', '9']) == 0\n"
        "assert 'construct' not in sys.modules\n"
        f"assert protocol(['show', 'Heartbeat', '4', '--bytes', '{HEARTBEAT}']) == 0\n"
        "assert 'construct' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
