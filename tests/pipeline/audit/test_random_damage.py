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
from support.data.log_directories import history_directory
from support.kafka.java import java_class, java_or_skip, run_class

from .random_damage import damage

pytestmark = pytest.mark.java

SEED = "AUDIT_DAMAGE_SEED"
AT_A_TIME = 200
STEPS = 60


class Case(NamedTuple):
    """One damaged directory: what was done to it, and the audit's names for it."""

    seed: int
    done: str
    found: frozenset[str]


def make(home: Path, seed: int) -> Path:
    """The whole directory of a seed; ``older`` beside it has the partition as it was before its last steps."""
    root = history_directory(home / "whole", seed, steps=STEPS, is_clean=seed % 3 > 0)
    if seed % 3 == 0:
        (root / "recovery-point-offset-checkpoint").write_text("0\n0\n")  # a recovery reads the whole log
    history_directory(home / "older", seed, steps=STEPS * 2 // 3)
    return root


def question(root: Path) -> str:
    """The line of a directory for ReadLog.java."""
    is_clean = (root / ".kafka_cleanshutdown").exists()
    return f"{root / 't-0'} {str(is_clean).lower()} 0 0"


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
        done = damage(random.Random(seed), damaged / "t-0", home / "older" / "t-0")
        shutil.rmtree(home / "older")
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


@pytest.mark.ci
def test_no_damage_is_silent(tmp_path: Path) -> None:
    run(tmp_path, range(300))


@pytest.mark.long
def test_no_damage_is_silent_at_length(tmp_path: Path) -> None:
    run(tmp_path, range(100_000, 100_000 + int(os.environ.get("AUDIT_DAMAGES", "10000"))))
