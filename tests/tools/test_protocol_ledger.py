"""The ledger of proof is complete and current, and matches its tests."""

import ast
from pathlib import Path

import pytest

from odradek.broker.dispatch.served import SERVED
from odradek.protocol.apis.api_keys import ApiKey
from tools import protocol_ledger as ledger
from tools.protocol_ledger import Evidence

JAVA_431, LIBRDKAFKA = ("apache-kafka-java", "4.3.1"), ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0")


def test_each_version_that_is_served_has_a_row() -> None:
    shown = {(one.api_key, one.version) for one in ledger.read()}
    served = {(key, version) for key in SERVED for version in ledger.versions_of(key)}
    assert shown == served, "`make protocol-ledger` records them"


def test_each_test_that_is_named_exists() -> None:
    missing = []
    for test in {one.test for one in ledger.read()}:
        path, *names = test.split("::")
        source = ledger.ROOT / path
        nodes: list[ast.stmt] = ast.parse(source.read_text()).body if source.exists() else []
        for name in names:
            found = [
                node
                for node in nodes
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name
            ]
            if not found:
                missing.append(test)
                break
            nodes = found[0].body
    assert not missing, "`make protocol-ledger LEDGER_TESTS=...` records the tests that took their place"


def test_the_page_is_current() -> None:
    assert ledger.PAGE.read_text() == ledger.page(ledger.read()), "`make protocol-ledger` prints it from the data"


@pytest.mark.parametrize(
    ("test", "software", "client_id", "who"),
    [
        ("tests/a.py::t", JAVA_431, "adminclient-1", ledger.JAVA),
        ("tests/a.py::t", JAVA_431, "app-StreamThread-1-consumer", ledger.STREAMS),
        ("tests/a.py::t", LIBRDKAFKA, "rdkafka", ledger.CONFLUENT),
        ("tests/a.py::t", None, "aiokafka-0.14.0", ledger.AIOKAFKA),
        ("tests/a.py::t", None, "kafka-python-producer-2", ledger.KAFKA_PYTHON),
        ("tests/a.py::t", ("odradek", "1"), "any", ledger.OWN_CLIENT),
        ("tests/a.py::t", None, None, ledger.FRAMES),
        ("tests/a.py::t", JAVA_431, "asking", ledger.FRAMES),
        ("tests/parity/a.py::t", JAVA_431, "wire", ledger.PARITY),
        ("tests/parity/a.py::t", JAVA_431, "consumer-1", ledger.JAVA),
        ("tests/a.py::t", ("unheard-of", "1"), "aiokafka-0.14.0", ledger.FRAMES),
    ],
)
def test_who_sent_a_request(test: str, software: tuple[str, str] | None, client_id: str | None, who: str) -> None:
    assert ledger.sender(test, software, client_id) == who


def folded(old: list[Evidence], seen: list[ledger.Seen], passed: set[str]) -> list[Evidence]:
    return [one for one in ledger.fold(old, seen, passed) if one.sender != ledger.ENCODING]


def test_only_tests_that_passed_count_and_a_run_replaces_what_they_showed() -> None:
    fetch = int(ApiKey.FETCH)
    old = [
        Evidence(fetch, 12, ledger.CONFLUENT, "2", "tests/a.py::ran"),
        Evidence(fetch, 4, ledger.CONFLUENT, "2", "tests/a.py::did_not_run"),
    ]
    seen: list[ledger.Seen] = [
        ("tests/a.py::ran[x]", fetch, 13, LIBRDKAFKA, "rdkafka"),
        ("tests/a.py::ran[x]", fetch, 99, LIBRDKAFKA, "rdkafka"),
        ("tests/a.py::failed", fetch, 14, LIBRDKAFKA, "rdkafka"),
    ]
    assert folded(old, seen, {"tests/a.py::ran[x]"}) == [
        old[1],
        Evidence(fetch, 13, ledger.CONFLUENT, "2.16.1", "tests/a.py::ran"),
    ]


def test_frames_count_only_if_no_real_client_has_used_the_version_and_few_tests_are_named() -> None:
    fetch = int(ApiKey.FETCH)
    seen: list[ledger.Seen] = [
        ("tests/parity/a.py::one", fetch, 5, None, "wire"),
        ("tests/parity/a.py::one", fetch, 6, None, "wire"),
        ("tests/b.py::frames", fetch, 6, None, None),
        ("tests/b.py::less", fetch, 5, LIBRDKAFKA, "rdkafka"),
        ("tests/b.py::more", fetch, 5, LIBRDKAFKA, "rdkafka"),
        ("tests/b.py::more", fetch, 7, LIBRDKAFKA, "rdkafka"),
    ]
    assert folded([], seen, {line[0] for line in seen}) == [
        Evidence(fetch, 5, ledger.CONFLUENT, "2.16.1", "tests/b.py::more"),
        Evidence(fetch, 6, ledger.PARITY, "", "tests/parity/a.py::one"),
        Evidence(fetch, 7, ledger.CONFLUENT, "2.16.1", "tests/b.py::more"),
    ]


def test_a_version_without_a_test_is_listed_with_its_bytes() -> None:
    rows = ledger.fold([], [], set())
    assert {one.sender for one in rows} == {ledger.ENCODING}
    assert {one.api_key for one in rows} == SERVED.keys()


@pytest.mark.parametrize(("versions", "text"), [([], ""), ([3], "3"), ([5, 0, 2, 1], "0-2, 5")])
def test_versions_are_written_as_spans(versions: list[int], text: str) -> None:
    assert ledger.spans(versions) == text


def test_the_recorder_s_files_stand_alone() -> None:
    """Brokers import these files with only the standard library in their path."""
    folder = Path(ledger.ROOT, "tests", "support", "ledger")
    for name in ("sitecustomize.py", "protocol_recorder.py"):
        imported = {
            alias
            for node in ast.walk(ast.parse((folder / name).read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in ([node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        }
        assert not {one for one in imported if one and one.split(".")[0] in ("odradek", "support", "tools")}
