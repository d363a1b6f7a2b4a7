"""Byte equality with Apache Kafka's own Java classes, for every message and version; see ``tests/java/Codec.java``."""

import json
from collections.abc import Iterable

import pytest

from odradek.protocol.apis.table import message
from odradek.protocol.codec import Message, encode
from support.data.messages import every_version, random_message, seed_of, to_json
from support.kafka.java import OLD_KAFKA_VERSION, TABLE_VERSION, java_class, java_or_skip, run_class

INSTANCES = 24
INSTANCES_LONG = 400
SEED = 431


def release_of(cls: type[Message], version: int) -> str:
    """The release from which the table has the layout of the version."""
    layouts = message(cls.NAME).layouts
    return TABLE_VERSION if version in layouts[-1].versions else OLD_KAFKA_VERSION


def cases(release: str, instances: int, run_seed: int) -> Iterable[tuple[str, str]]:
    """Lines for Codec.java, and the expressions that replay them."""
    for cls, version in every_version():
        if release_of(cls, version) != release:
            continue
        for instance in range(instances):
            seed = seed_of(run_seed, cls.NAME, version, instance)
            # Kafka's JSON has no unknown tagged fields; a quarter of the cases is compared without JSON, but with them.
            unknown_tags = instance % 4 == 3
            made = random_message(cls, version, seed, unknown_tags=unknown_tags)
            text = "-" if unknown_tags else json.dumps(to_json(made, version))
            line = f"{cls.NAME}\t{version}\t{encode(made, version).hex()}\t{text}"
            yield line, f"random_message({cls.NAME}, {version}, {seed}, unknown_tags={unknown_tags})"


def check_parity(release: str, instances: int, run_seed: int) -> None:
    java_or_skip(release)
    asked = list(cases(release, instances, run_seed))
    lines = "".join(f"{line}\n" for line, _ in asked)
    result = run_class(java_class("Codec", release), version=release, standard_input=lines, timeout_s=1800)
    assert result.returncode == 0, result.stderr[-3000:]
    answers = result.stdout.splitlines()
    assert len(answers) == len(asked), result.stderr[-3000:]
    wrong = [f"{replay}: {answer}" for (_, replay), answer in zip(asked, answers, strict=True) if answer != "ok"]
    assert not wrong, f"{len(wrong)} of {len(asked)} differ, first: " + "\n".join(entry[:2000] for entry in wrong[:5])


@pytest.mark.java
@pytest.mark.parametrize("release", [TABLE_VERSION, OLD_KAFKA_VERSION])
def test_bytes_equal_kafkas(release: str) -> None:
    check_parity(release, INSTANCES, SEED)


@pytest.mark.java
@pytest.mark.long
@pytest.mark.parametrize("release", [TABLE_VERSION, OLD_KAFKA_VERSION])
def test_many_bytes_equal_kafkas(release: str) -> None:
    for run in range(10):
        check_parity(release, INSTANCES_LONG // 10, SEED + 1 + run)


def test_every_version_is_asked_of_some_release() -> None:
    asked = {
        release: [c for c in every_version() if release_of(*c) == release]
        for release in (TABLE_VERSION, OLD_KAFKA_VERSION)
    }
    assert sum(len(found) for found in asked.values()) == len(every_version())
    assert asked[OLD_KAFKA_VERSION]
