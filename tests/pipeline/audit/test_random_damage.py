"""Random damage, judged by Kafka's own classes: what changes what a consumer gets, or stops a start, is found.

A history of a partition is damaged in one file. Kafka's classes open the directory as at a start and read it as a
consumer of committed records does (``ReadLog.java``). If they get the same from it as from the whole one, the audit may
say what it likes; otherwise it has to say so.
"""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.log.log_config import LogConfig
from support.data import old_formats
from support.data.cleaned_log import clean_log
from support.data.log_directories import history_directory
from support.data.log_histories import HistoryWriter
from support.kafka.java import java_class, java_or_skip, run_class

from .random_damage import damage

pytestmark = pytest.mark.java

SEED = "AUDIT_DAMAGE_SEED"
AT_A_TIME = 200
STEPS = 60
COMPACTED_TOPIC = "__transaction_state-0"
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))


class Case(NamedTuple):
    """One damaged directory: what was done to it, and the audit's names for it."""

    seed: int
    done: str
    found: frozenset[str]


def make(home: Path, seed: int) -> Path:
    """The partition of a seed, as the only one of its log directory. ``older`` beside that has it as it was before.

    A fifth of them are compacted, a fifth have batches of older formats, which a Kafka 2.8 has written.
    """
    if seed % 5 == 3:
        return compacted_directory(home, seed)
    if seed % 5 == 4:
        return old_directory(home, seed)
    is_clean = seed % 3 > 0
    root = history_directory(home / "whole", seed, steps=STEPS, is_clean=is_clean)
    if not is_clean:
        (root / "recovery-point-offset-checkpoint").write_text("0\n0\n")  # a recovery reads the whole log
    shutil.copytree(history_directory(home / "older", seed, steps=STEPS * 2 // 3) / "t-0", home / "older-t-0")
    return root


def compacted_directory(home: Path, seed: int) -> Path:
    """A history that was cleaned once. The audit knows that the topic of transactions is compacted."""
    root = home / "whole"
    writer = HistoryWriter(random.Random(seed), root / COMPACTED_TOPIC, keys=12, with_null_keys=False, config=COMPACTED)
    writer.write(STEPS)
    writer.roll()
    shutil.copytree(root / COMPACTED_TOPIC, home / "older-t-0")
    cleaned = clean_log(writer.log, cleaned_up_to=None, now_ms=writer.end_ms).result.cleaned_up_to
    writer.write(STEPS // 4)
    end = writer.log.log_end_offset
    writer.close()
    (root / "meta.properties").write_text("version=1\n")
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    key = ("__transaction_state", 0)
    for name, offset in (("replication-offset", end), ("recovery-point-offset", end), ("cleaner-offset", cleaned)):
        write_offset_checkpoint(Files(), root / f"{name}-checkpoint", {key: offset})
    return root


def old_directory(home: Path, seed: int) -> Path:
    """A topic of message format 0 or 1, or of several formats."""
    kept = old_formats.unpack(home / "unpacked")
    topic = random.Random(seed).choice(old_formats.TOPICS)
    root = home / "whole"
    shutil.copytree(kept / f"{topic}-0", root / "t-0")
    shutil.copytree(kept / f"{topic}-0", home / "older-t-0")
    shutil.rmtree(home / "unpacked")
    (root / "meta.properties").write_text("version=1\n")
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    return root


def partition_of(root: Path) -> Path:
    """The only partition of a log directory."""
    [path] = [path for path in root.iterdir() if path.is_dir()]
    return path


def question(root: Path) -> str:
    """The line of a directory for ReadLog.java."""
    is_clean = (root / ".kafka_cleanshutdown").exists()
    return f"{partition_of(root)} {str(is_clean).lower()} 0 0"


def judge(questions: list[str]) -> list[str]:
    """Kafka's answers. It changes the directories, as a start does."""
    java_or_skip()
    ended = run_class(java_class("ReadLog"), standard_input="\n".join(questions), timeout_s=1_200)
    assert ended.returncode == 0, ended.stderr[-2_000:]
    return ended.stdout.splitlines()


def cases(place: Path, seeds: range) -> Iterator[tuple[Case, str, str]]:
    """Damages the directory of each seed and audits it. Yields each with the questions for the whole one and this."""
    for seed in seeds:
        home = place / str(seed)
        whole = make(home, seed)
        damaged = Path(shutil.copytree(whole, home / "damaged"))
        done = damage(random.Random(seed), partition_of(damaged), home / "older-t-0")
        findings = audit_directories([damaged], LOCAL).findings
        found = frozenset(one.name for one in findings if one.check.severity is not Severity.INFO)
        yield Case(seed, done, found), question(whole), question(damaged)


def run(place: Path, seeds: range) -> None:
    """Asks about all seeds. Fails with those of which the audit is silent although Kafka gets something else."""
    silent = []
    for first in range(seeds.start, seeds.stop, AT_A_TIME):
        part = list(cases(place, range(first, min(first + AT_A_TIME, seeds.stop))))
        answers = iter(judge([line for _, *lines in part for line in lines]))
        for case, *_ in part:
            before, after = next(answers), next(answers)
            assert not before.startswith("refused"), (case, before)
            if before != after and not case.found:
                silent.append(f"{SEED}={case.seed}: {case.done}\n  whole:   {before}\n  damaged: {after}")
        for path in place.iterdir():
            shutil.rmtree(path)
    assert not silent, "\n".join([f"{len(silent)} of {len(seeds)}", *silent])


def test_given_seed(tmp_path: Path) -> None:
    seed = int(os.environ.get(SEED, "7"))
    run(tmp_path, range(seed, seed + 1))


def test_the_whole_directories_have_no_finding(tmp_path: Path) -> None:
    for seed in range(20):
        findings = audit_directories([make(tmp_path / str(seed), seed)], LOCAL).findings
        assert [one for one in findings if one.check.severity is not Severity.INFO] == [], seed


@pytest.mark.parametrize(
    "seeds", [pytest.param(range(60), marks=pytest.mark.ci), pytest.param(range(60, 300), marks=pytest.mark.nightly)]
)
def test_no_damage_is_silent(tmp_path: Path, seeds: range) -> None:
    run(tmp_path, seeds)


@pytest.mark.long
def test_no_damage_is_silent_at_length(tmp_path: Path) -> None:
    run(tmp_path, range(100_000, 100_000 + int(os.environ.get("AUDIT_DAMAGES", "10000"))))
