"""`odradek storage format | info | random-uuid`: Kafka's flags, messages, files. A real Kafka starts on the result."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from odradek.broker.metadata.image.features import default_features
from odradek.broker.storage_tool.format import format_directories, random_uuid
from odradek.broker.storage_tool.formatting import BOOTSTRAP, FIRST_CHECKPOINT
from odradek.broker.storage_tool.info import info
from odradek.broker.storage_tool.scram import scram_record
from odradek.protocol.apis.metadata_versions import LEVELS, release_level
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import decode_records
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import parse_uuid, read_meta_properties
from support.brokers.our_broker import OurBroker
from support.kafka.java import FORMER_KAFKA_VERSION, KAFKA_VERSION, java_or_skip, run_class
from support.kafka.real_kafka import RealKafka

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
ALICE = "SCRAM-SHA-256=[name=alice,password=alice-secret]"


def configuration(directory: Path, quorum: str = "controller.quorum.bootstrap.servers=127.0.0.1:19093") -> Path:
    path = directory / "server.properties"
    path.write_text(
        "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:19093\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={directory / 'a'},{directory / 'b'}\n{quorum}\n"
    )
    return path


def test_every_directory_gets_its_files_and_the_first_the_voter(tmp_path: Path) -> None:
    assert format_directories(["-c", str(configuration(tmp_path)), "-t", CLUSTER, "--standalone"]) == 0
    metas = [read_meta_properties(Files(), tmp_path / name) for name in "ab"]
    assert all(meta is not None and meta.cluster_id == CLUSTER and meta.node_id == 1 for meta in metas)
    assert metas[0] is not None
    assert metas[1] is not None
    assert metas[0].directory_id != metas[1].directory_id
    assert files_in(tmp_path) == [
        "a/__cluster_metadata-0/" + FIRST_CHECKPOINT,
        "a/meta.properties",
        "b/meta.properties",
    ]
    checkpoint = tmp_path / "a" / "__cluster_metadata-0" / FIRST_CHECKPOINT
    assert metas[0].directory_id in checkpoint.read_bytes()
    assert b"metadata.version" in checkpoint.read_bytes()
    assert checkpoint.stat().st_mode & 0o777 == 0o400


def test_below_44_the_levels_are_where_an_older_kafka_looks(tmp_path: Path) -> None:
    assert format_directories(["-c", str(configuration(tmp_path)), "-t", CLUSTER, "--standalone", "-r", "4.3"]) == 0
    assert (tmp_path / "a" / BOOTSTRAP).read_bytes() == (tmp_path / "b" / BOOTSTRAP).read_bytes()
    assert b"metadata.version" in (tmp_path / "a" / BOOTSTRAP).read_bytes()
    checkpoint = (tmp_path / "a" / "__cluster_metadata-0" / FIRST_CHECKPOINT).read_bytes()
    assert b"CONTROLLER" in checkpoint
    assert b"metadata.version" not in checkpoint
    assert not (tmp_path / "b" / "__cluster_metadata-0").exists()


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_a_static_quorum_has_no_voter_in_the_directory(tmp_path: Path, release: str) -> None:
    path = configuration(tmp_path, "controller.quorum.voters=1@127.0.0.1:19093")
    assert format_directories(["-c", str(path), "-t", CLUSTER, "-r", release]) == 0
    checkpoint = tmp_path / "a" / "__cluster_metadata-0" / FIRST_CHECKPOINT
    assert checkpoint.exists() is (release == "4.4")
    assert not checkpoint.exists() or b"CONTROLLER" not in checkpoint.read_bytes()
    assert format_directories(["-c", str(path), "-t", CLUSTER, "--standalone", "-g"]) == 1


def test_a_broker_alone_gets_no_levels(tmp_path: Path) -> None:
    path = configuration(tmp_path, "process.roles=broker\ncontroller.quorum.bootstrap.servers=127.0.0.1:1")
    path.write_text(
        path.read_text().replace("process.roles=broker,controller\n", "").replace(",CONTROLLER://127.0.0.1:19093", "")
    )
    assert format_directories(["-c", str(path), "-t", CLUSTER, "-N"]) == 0
    assert files_in(tmp_path) == ["a/meta.properties", "b/meta.properties"]


def files_in(directory: Path) -> list[str]:
    """The files of the log directories."""
    return sorted(str(path.relative_to(directory)) for path in directory.glob("[ab]/**/*") if path.is_file())


@pytest.mark.parametrize(("options", "line"), [((), True), (("-r", "4.4"), True), (("-r", "4.3"), False)])
def test_that_there_is_no_way_back_is_said(
    options: tuple[str, ...], line: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert format_directories(["-c", str(configuration(tmp_path)), "-t", CLUSTER, "--standalone", *options]) == 0
    said = "metadata.version is 33 (4.4-IV2): Apache Kafka before 4.4 can't use this directory, and the level can't be"
    assert (said in capsys.readouterr().out) is line


@pytest.mark.java
@pytest.mark.parametrize("quorum", ["voters=1@127.0.0.1:19093", "bootstrap.servers=127.0.0.1:19093"])
def test_the_files_are_those_that_kafka_writes(tmp_path: Path, quorum: str) -> None:
    """Byte by byte but for times, ids and checksums, with the features that this broker does not serve left out."""
    ours, kafkas = tmp_path / "ours", tmp_path / "kafkas"
    options = ["--standalone"] if "bootstrap" in quorum else []
    for directory in (ours, kafkas):
        directory.mkdir()
        configuration(directory, f"controller.quorum.{quorum}")
    assert format_directories(["-c", str(ours / "server.properties"), "-t", CLUSTER, *options]) == 0
    java_or_skip()
    command = ["format", "-t", CLUSTER, "-c", str(kafkas / "server.properties"), *options]
    formatted = run_class("kafka.tools.StorageTool", *command)
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr
    assert files_in(ours) == files_in(kafkas)
    first = Path("a", "__cluster_metadata-0", FIRST_CHECKPOINT)
    assert contents(ours / first) == contents(kafkas / first)
    assert (ours / first).stat().st_mode == (kafkas / first).stat().st_mode


def contents(checkpoint: Path) -> list[Any]:
    """The batches of a checkpoint without times, and without the ids of directories."""
    data = checkpoint.read_bytes()
    directory_id = read_meta_properties(Files(), checkpoint.parents[1]).directory_id  # type: ignore[union-attr]
    found: list[Any] = []
    for position, header in iterate_headers(data):
        records = [(record.offset, record.key, record.value) for record in decode_records(data, header, position)]
        plain = [(offset, key, (value or b"").replace(directory_id, b"id")) for offset, key, value in records]
        if header.is_control:
            plain[0] = (*plain[0][:2], b"header or footer")  # a header has a time
        found.append([header._replace(base_timestamp=0, max_timestamp=0, crc=0), plain])
    return found


REFUSALS = {
    (): "you must specify --standalone",
    ("--no-initial-controllers",): "is its own controller",
    ("--initial-controllers", "1@h:1:AAECAwQFBgcICQoLDA0ODw,2@h:1:AAECAwQFBgcICQoLDA0ODw"): "this node alone",
    ("-s", "-r", "9"): "Unknown metadata.version '9'. Supported metadata.version are: 3.3-IV3, 3.4-IV0",
    ("-s", "-f", "nosuch=1"): "Unsupported feature: nosuch.",
    ("-s", "-f", "streams.version=2"): "0 to 1 are supported",
    ("-s", "-f", "share.version"): "Can't parse feature=level string",
    ("-s", "-f", "kraft.version=0"): "kraft.version is 1 with --standalone",
    ("-s", "-f", "eligible.leader.replicas.version=2"): "0 to 1 are supported",
    ("-s", "-r", "3.4", "-S", ALICE): "SCRAM is only supported",
    ("-s", "-S", "SCRAM-MD5=[name=a,password=b]"): "mechanism SCRAM-MD5 is not supported",
    ("-s", "-S", "SCRAM-SHA-256=[name=a]"): "one of 'password' or 'saltedpassword'",
    ("-s", "-S", "SCRAM-SHA-256=[name=a,password=b,iterations=1]"): "must be between 4096 and 16384",
}


@pytest.mark.parametrize("options", REFUSALS, ids=" ".join)
def test_what_is_refused_leaves_nothing(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert format_directories(["-c", str(configuration(tmp_path)), "-t", CLUSTER, *options]) == 1
    assert REFUSALS[options] in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_formatted_directories_are_refused_skipped_or_contradicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["-c", str(configuration(tmp_path)), "-s", "-t"]
    assert format_directories([*arguments, CLUSTER]) == 0
    (tmp_path / "b" / "meta.properties").unlink()
    before = (tmp_path / "a" / "meta.properties").read_bytes()
    assert format_directories([*arguments, CLUSTER]) == 1
    assert "Use --ignore-formatted to ignore this directory and format the others." in capsys.readouterr().err
    assert format_directories([*arguments, CLUSTER, "-g"]) == 0
    assert (tmp_path / "a" / "meta.properties").read_bytes() == before
    assert (tmp_path / "b" / "meta.properties").exists()
    assert format_directories([*arguments, CLUSTER, "-g"]) == 0
    assert "All of the log directories are already formatted." in capsys.readouterr().out
    assert format_directories([*arguments, "another", "-g"]) == 1
    assert f"Expected another, but read {CLUSTER}" in capsys.readouterr().err


def test_the_names_of_releases_are_kafkas() -> None:
    assert (LEVELS["3.3-IV3"], LEVELS["3.9-IV0"], LEVELS["4.3-IV0"]) == (7, 21, 30)
    assert [release_level(text) for text in ("3.7", "3.9.1", "4.0", "4.3.1")] == [19, 21, 25, 30]
    assert default_features(21) == {"metadata.version": 21}


def test_a_scram_record_is_that_of_rfc_5802() -> None:
    # RFC 7677, section 3: user "user", password "pencil".
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    record = scram_record("SCRAM-SHA-256=[name=user,password=pencil,iterations=4096]", salt)
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    message = (
        "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = hmac.digest(record.stored_key, message.encode(), "sha256")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == record.stored_key
    server = hmac.digest(record.server_key, message.encode(), "sha256")
    assert base64.b64encode(server) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_info_says_what_kafka_says_and_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = configuration(tmp_path)
    assert info(["-c", str(path)]) == 1
    assert f"Found problems:\n  {tmp_path / 'a'} does not exist\n" in capsys.readouterr().out
    assert format_directories(["-c", str(path), "-s", "-t", CLUSTER]) == 0
    capsys.readouterr()
    assert info(["-c", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Found log directories:\n  {tmp_path / 'a'}\n  {tmp_path / 'b'}\n\nFound metadata: {{")
    assert "no broker has run here yet" in out
    assert info([str(tmp_path / "a"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["directories"][0]["cluster.id"] == CLUSTER
    assert info([]) == 2


def test_a_random_uuid_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert random_uuid([]) == 0
    assert len(parse_uuid(capsys.readouterr().out.strip())) == 16


def test_our_broker_starts_on_it_with_the_features_and_keeps_the_users(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"node.id=1\nlog.dirs={tmp_path / 'logs'}\n")
    assert format_directories(["-c", str(path), "-t", CLUSTER, "-r", "3.9", "-S", ALICE]) == 0
    with OurBroker(tmp_path, {"node.id": "1"}) as broker:
        assert broker.stop() == 0
    log = b"".join(one.read_bytes() for one in (tmp_path / "logs" / "__cluster_metadata-0").glob("*.log"))
    assert b"alice" in log
    assert info([str(tmp_path / "logs")]) == 0


@pytest.mark.ci
@pytest.mark.parametrize("dynamic", [True, False], ids=["dynamic quorum", "static quorum"])
@pytest.mark.parametrize("version", [KAFKA_VERSION, FORMER_KAFKA_VERSION])
def test_a_real_kafka_starts_on_it(dynamic: bool, version: str, tmp_path: Path) -> None:
    kafka = RealKafka(tmp_path, dynamic_quorum=dynamic, version=version)
    path = tmp_path / "ours.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in kafka.properties().items()))
    options = ["--standalone"] if dynamic else []
    options += [] if version == KAFKA_VERSION else ["--release-version", version]
    assert format_directories(["-c", str(path), "-t", CLUSTER, "-S", ALICE, *options]) == 0
    with kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        asked = admin.describe_user_scram_credentials(["alice"])
        assert isinstance(asked, dict)
        described = asked["alice"].result(60)
        assert [one.iterations for one in described.scram_credential_infos] == [4096]
        assert admin.list_topics(timeout=60).cluster_id == CLUSTER
