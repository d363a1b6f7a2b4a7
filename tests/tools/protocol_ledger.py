"""The ledger of proof: which test with which client shows each API version that the broker serves.

``docs/developers/protocol-ledger.json`` holds the evidence, ``docs/protocol.md`` is printed from it. Both are written
by :func:`add_run` at the end of a recorded test run (``make protocol-ledger``, ``tests/support/ledger``), never by
hand.

A test is evidence for a version if it passed and the broker handed a request of that version to its handler while the
test ran. What proves a version depends on who sent the request: see :func:`sender`.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from odradek.broker.dispatch.served import SERVED, TELEMETRY, served_versions
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.show.show import apis

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "developers" / "protocol-ledger.json"
PAGE = ROOT / "docs" / "protocol.md"
REFUSED = {ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE}
"""APIs of plugins that this broker does not have."""

JAVA = "Java client"
STREAMS = "Kafka Streams"
CONFLUENT, KAFKA_PYTHON, AIOKAFKA = "confluent-kafka", "kafka-python", "aiokafka"
REAL_CLIENTS = (JAVA, STREAMS, CONFLUENT, KAFKA_PYTHON, AIOKAFKA)
PARITY, OWN_CLIENT, FRAMES, ENCODING = "parity", "Odradek's client", "frames", "encoding"
SENDERS = (*REAL_CLIENTS, PARITY, OWN_CLIENT, FRAMES, ENCODING)
"""All senders: first the real clients, then the others, the best evidence first."""

ENCODING_TEST = "tests/protocol/test_java_parity.py::test_bytes_equal_kafkas"
PARITY_FOLDER = "tests/parity/"
FRAME_CLIENT_IDS = {"wire", "raw", "asking"}
"""Client ids of tests that build frames. ``tests/java/Wire.java`` builds them with Kafka's message classes."""

SOFTWARE = {
    "apache-kafka-java": JAVA,
    "confluent-kafka-python": CONFLUENT,
    "kafka-python": KAFKA_PYTHON,
    "odradek": OWN_CLIENT,
}
"""Client software names in ApiVersions (KIP-511)."""

ACLS = {key for key, module in SERVED.items() if module.endswith("_acls")}
"""Served APIs that are always refused."""

Seen = tuple[str, int, int, Sequence[str] | None, str | None]
"""One line of a recording: test, API key, version, client software (name, version) and client id."""


@dataclass(frozen=True, order=True, slots=True)
class Evidence:
    """One version of one API that a test shows with one sender."""

    api_key: int
    version: int
    sender: str
    """One of :data:`SENDERS`."""
    software_version: str
    """The version of the client's software, as it names it; may be empty."""
    test: str
    """The test's node id without parameters."""


def sender(test: str, software: Sequence[str] | None, client_id: str | None) -> str:
    """The sender of a request: a real client, our own, or a test that builds frames.

    The client software name in ApiVersions from version 3 on identifies a client; otherwise its default client id does.
    """
    client_id = client_id or ""
    if client_id not in FRAME_CLIENT_IDS:
        if "StreamThread" in client_id and software and software[0] == "apache-kafka-java":
            return STREAMS
        if software and software[0] in SOFTWARE:
            return SOFTWARE[software[0]]
        for client in (AIOKAFKA, KAFKA_PYTHON):
            if software is None and client_id.startswith(f"{client}-"):
                return client
    return PARITY if test.startswith(PARITY_FOLDER) else FRAMES


def software_version(software: Sequence[str] | None, client_id: str | None) -> str:
    """The version that a client names in ApiVersions or at the end of its default client id."""
    if software:
        return software[1].partition("-")[0]
    found = re.search(r"-(\d+\.\d+\.\d+)$", client_id or "")
    return found[1] if found else ""


def fold(old: Iterable[Evidence], seen: Iterable[Seen], passed: Collection[str]) -> list[Evidence]:
    """The evidence after a run. New evidence of a test replaces its old evidence.

    ``passed`` holds node ids with parameters. Keeps only as many tests as all versions and senders need. Senders
    that are not real clients are kept only for versions that no real client has used.
    """
    ran = {_without_parameters(line[0]) for line in seen} | {_without_parameters(test) for test in passed}
    found = {one for one in old if one.test not in ran and one.sender != ENCODING}
    for test, api_key, version, software, client_id in seen:
        if test in passed and _is_served(api_key, version):
            who = sender(test, software, client_id)
            found.add(Evidence(api_key, version, who, software_version(software, client_id), _without_parameters(test)))
    best: dict[tuple[int, int], int] = {}
    for one in found:
        kind = (one.api_key, one.version)
        best[kind] = min(best.get(kind, len(SENDERS)), max(_rank(one), len(REAL_CLIENTS) - 1))
    kept = _fewest_tests({one for one in found if _rank(one) <= best[one.api_key, one.version]})
    for api_key in sorted(SERVED):
        for version in versions_of(api_key):
            if (api_key, version) not in best:
                kept.append(Evidence(api_key, version, ENCODING, "", ENCODING_TEST))
    return sorted(kept)


def _rank(one: Evidence) -> int:
    return SENDERS.index(one.sender)


def _fewest_tests(found: Collection[Evidence]) -> list[Evidence]:
    """One piece of evidence for each version and sender, from few tests: the test with the most evidence is first."""
    by_test: dict[str, dict[tuple[int, int, str], Evidence]] = {}
    for one in sorted(found):
        by_test.setdefault(one.test, {})[one.api_key, one.version, one.sender] = one
    kept: dict[tuple[int, int, str], Evidence] = {}
    while by_test:
        shows_most = max(sorted(by_test), key=lambda test: len(by_test[test]))
        for what, one in by_test[shows_most].items():
            kept.setdefault(what, one)
        by_test = {
            test: rest
            for test, shown in by_test.items()
            if (rest := {what: one for what, one in shown.items() if what not in kept})
        }
    return list(kept.values())


def versions_of(api_key: int) -> range:
    """The versions of an API that ApiVersions announces."""
    lowest, highest = served_versions(api_key)
    return range(lowest, highest + 1)


def _is_served(api_key: int, version: int) -> bool:
    return api_key in SERVED and version in versions_of(api_key)


def _without_parameters(test: str) -> str:
    return test.partition("[")[0]


def read() -> list[Evidence]:
    """The evidence of ``docs/developers/protocol-ledger.json``."""
    tests = json.loads(DATA.read_text())
    return sorted(
        Evidence(api_key, version, who, software, test)
        for test, rows in tests.items()
        for api_key, version, who, software in rows
    )


def write(ledger: Iterable[Evidence]) -> None:
    """Writes the evidence, one line for each, and the page."""
    by_test: dict[str, list[str]] = {}
    for one in sorted(ledger):
        row = json.dumps([one.api_key, one.version, one.sender, one.software_version])
        by_test.setdefault(one.test, []).append(f"    {row}")
    blocks = (f"  {json.dumps(test)}: [\n" + ",\n".join(rows) + "\n  ]" for test, rows in sorted(by_test.items()))
    DATA.write_text("{\n" + ",\n".join(blocks) + "\n}\n")
    PAGE.write_text(page(read()))


def add_run(seen: Iterable[Seen], passed: Collection[str]) -> None:
    """Adds the evidence of a recorded test run to the ledger, and rewrites the page."""
    write(fold(read() if DATA.exists() else (), list(seen), passed))


def page(ledger: Sequence[Evidence]) -> str:
    """The text of docs/protocol.md."""
    tests = sorted({one.test for one in ledger} - {ENCODING_TEST})
    numbers = {test: number for number, test in enumerate(tests, 1)}
    real = {(one.api_key, one.version) for one in ledger if one.sender in REAL_CLIENTS}
    served = [(key, version) for key in SERVED if key not in ACLS for version in versions_of(key)]
    software = {
        who: sorted({one.software_version for one in ledger if one.sender == who} - {""}) for who in REAL_CLIENTS
    }
    clients = "; ".join(f"{who} {', '.join(found)}".rstrip() for who, found in software.items() if found)
    apis_served = len(SERVED) - len(ACLS)
    shown = len(real & set(served))
    out = [PREFACE.format(clients=clients, encoding=ENCODING_TEST, real=shown, all=len(served), apis=apis_served)]
    out += ["| API | key | versions | shown with real clients | without a real client |", "|---|---:|---|---|---|"]
    for api_key in sorted(SERVED.keys() - ACLS):
        out.append(_row(api_key, ledger, numbers))
    out += ["", NOT_SERVED]
    for gets, keys in not_served().items():
        if not keys:
            continue
        out.append(f"| {gets} | {', '.join(_unserved(key, ledger, numbers) for key in keys)} |")
    out += ["", TESTS, *(f"{number}. {_linked(test)}" for test, number in numbers.items()), "", FRAMES_AND_TYPES]
    return "\n".join(out)


def _row(api_key: int, ledger: Sequence[Evidence], numbers: dict[str, int]) -> str:
    own = [one for one in ledger if one.api_key == api_key]
    real: list[str] = []
    rest: list[str] = []
    for who in SENDERS:
        shown: dict[int, list[int]] = {}
        for one in own:
            if one.sender == who:
                shown.setdefault(numbers.get(one.test, 0), []).append(one.version)
        if not shown:
            continue
        parts = [
            f"{spans(versions)} [{number}]" if number else spans(versions)
            for number, versions in sorted(shown.items(), key=lambda item: item[1])
        ]
        (real if who in REAL_CLIENTS else rest).append(f"{IN_WORDS.get(who, who)} {', '.join(parts)}")
    name = api(api_key).name
    return f"| {name} | {api_key} | {spans(versions_of(api_key))} | {'; '.join(real)} | {'; '.join(rest)} |"


IN_WORDS = {PARITY: "as Kafka answers:", OWN_CLIENT: "Odradek's client", FRAMES: "frames", ENCODING: "only the bytes"}


def spans(versions: Iterable[int]) -> str:
    """``0-2, 5`` for 0, 1, 2 and 5."""
    out: list[list[int]] = []
    for version in sorted(versions):
        if out and version == out[-1][1] + 1:
            out[-1][1] = version
        else:
            out.append([version, version])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in out)


def not_served() -> dict[str, list[int]]:
    """API keys of a Kafka broker that Odradek refuses or does not have, grouped by the result for a client."""
    of_a_broker = [int(one.api_key) for one, _ in apis() if one.versions and "broker" in one.listeners]
    return {
        "the connection is closed": [key for key in of_a_broker if key not in SERVED],
        "not announced without `odradek.telemetry.enable`": sorted(TELEMETRY),
        "SECURITY_DISABLED": [key for key in of_a_broker if key in ACLS],
        "UNSUPPORTED_VERSION": [key for key in of_a_broker if key in REFUSED],
    }


def _unserved(api_key: int, ledger: Sequence[Evidence], numbers: dict[str, int]) -> str:
    """The name of an API that is not served, with the numbers of the tests that send it."""
    sent = sorted({numbers[one.test] for one in ledger if one.api_key == api_key and one.test in numbers})
    return f"{api(api_key).name} {sent}" if sent else api(api_key).name


def _linked(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[`{path.removeprefix('tests/')}`](../{path}) `{name}`"


PREFACE = """# The protocol: what is served, and what shows it

The first table has a row for each API that the broker serves. It names a client and a version if a test passed
and, while the test ran, the broker served a request of that version from that client. Numbers in brackets are
[tests](#tests).

- **Real clients** are unmodified releases: {clients}. Kafka's command-line tools use the Java client.
- **Without a real client**: no real client uses the version in the tests. *As Kafka answers*: the test sends
  the same request to Odradek and to Apache Kafka 4.3.1 and compares the answers. *Odradek's client*: only that
  sends it. *Frames*: the test itself builds the request. *Only the bytes*: no recorded test sends it, but the
  bytes of such messages are compared with those of Kafka's own classes (`{encoding}`).

Real clients show {real} of {all} versions of {apis} APIs. The others are mostly versions
that only older clients use.

This page is generated. `make protocol-ledger` records a test run into `docs/developers/protocol-ledger.json` and prints
the page from it. `odradek protocol list` lists all of Kafka's APIs. `odradek protocol show Produce 9` prints
the fields of a message, and with `--bytes` it decodes bytes.

- [Served](#served)
- [Not served](#not-served)
- [Tests](#tests)
- [Frames and types](#frames-and-types)

## Served
"""

NOT_SERVED = """## Not served

A request for an API that a Kafka broker does not have closes the connection and logs one line, as in Kafka. The
APIs in this table are announced and answered with an error, or answered and not announced, as by a Kafka that has
the feature off. [differences.md](differences.md#what-is-not-served) says what each API is for. APIs that only
controllers serve are left out.

All other APIs of a Kafka 4.4.0 broker are served. Of Kafka's features, tiered storage and Kerberos (SASL/GSSAPI) are
not.

| what a client gets | APIs |
|---|---|"""

TESTS = """## Tests
"""

FRAMES_AND_TYPES = """## Frames and types

A frame is an int32 size, a header and a message. A request's header is version 2 if the request's version is
flexible, otherwise version 1. A response's header is version 1 if the response's version is flexible, otherwise
version 0. That of ApiVersions is always version 0, because a client that asked in a version that the broker
does not have must be able to read the answer. `odradek protocol list` prints from which version on an API is
flexible.

| type | bytes |
|---|---|
| int8, int16, uint16, int32, uint32, int64, float64 | big-endian, 1 to 8 bytes |
| bool | one byte: 0 is false, anything else true |
| uuid | 16 bytes |
| string | int16 length and UTF-8; -1 is null. Flexible versions: length + 1 as unsigned varint, 0 is null |
| bytes, records | int32 length and bytes; -1 is null. Flexible versions: length + 1 as unsigned varint, 0 is null |
| array | int32 count and elements; -1 is null. Flexible versions: count + 1 as unsigned varint, 0 is null |
| structure | its fields. A nullable one begins with a byte, -1 for null. Flexible versions: then the tagged fields |
| tagged fields | count, then tag, size and content of each, sorted by tag; count, tag and size as unsigned varints |
"""
