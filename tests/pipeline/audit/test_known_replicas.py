"""`audit --state` of several directories: replicas are compared by sums, with the report of an audit that reads all."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.state_run import begin_run
from odradek.pipeline.audit.tasks import BATCHES, RECORDS
from odradek.pipeline.engine.engines import LOCAL
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory, header_of, stamp

from .random_damage import damage
from .replicated_history import CRC_COVERED_POSITION, EPOCH_POSITION, ReplicatedHistory
from .test_known_segments import outcome
from .two_brokers import CLUSTER, belongs_to

HISTORIES = 12
ROUNDS = 5


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_random_replicas_have_the_report_of_a_full_audit(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = ReplicatedHistory(tmp_path, chance)
    level = BATCHES if seed % 5 == 4 else RECORDS
    for turn in range(ROUNDS):
        done = history.live()
        done += history.diverge() if chance.random() < 0.25 else []
        if chance.random() < 0.15:
            partition = chance.choice(history.replicas).partition
            if any(path.stat().st_size for path in partition.glob("*.log")):
                shutil.copytree(partition, tmp_path / "older", dirs_exist_ok=True)
                done += [damage(chance, partition, tmp_path / "older")]
        for replica in history.replicas:
            replica.age()
        full = audit_directories(history.roots, LOCAL, now_ms=history.now_ms, level=level)
        state = begin_run(tmp_path / "state", scrub_every=chance.choice((0, 0, 10)))
        result = audit_directories(history.roots, LOCAL, now_ms=history.now_ms, level=level, state=state)
        assert outcome(result) == outcome(full), f"seed {seed}, round {turn}: {done}"
        assert result.notes == []


def two_replicas(place: Path) -> list[Path]:
    first = AuditedDirectory(place / "first").root
    shutil.copytree(first, place / "second")
    return [belongs_to(first, CLUSTER, 1), belongs_to(place / "second", CLUSTER, 2)]


def audited(roots: list[Path], state: Path) -> AuditResult:
    return audit_directories(roots, LOCAL, now_ms=NOW_MS, state=begin_run(state))


def sizes(roots: list[Path]) -> list[int]:
    """The sizes of the segments of all replicas, by number."""
    logs = [sorted((root / "t-0").glob("*.log")) for root in roots]
    return [sum(path.stat().st_size for path in paths) for paths in zip(*logs, strict=True)]


def test_only_active_segments_are_read_to_compare_replicas(tmp_path: Path) -> None:
    roots = two_replicas(tmp_path)
    without = audit_directories(roots, LOCAL, now_ms=NOW_MS)
    assert without.compared_bytes == sum(sizes(roots))
    for _ in range(2):  # the first run has the sums as well
        result = audited(roots, tmp_path / "state")
        assert result.compared_bytes == sizes(roots)[-1] > 0
        assert outcome(result) == outcome(without)


def _with_a_batch_of_the_next_segment(replica: AuditedDirectory) -> None:
    """The first segment ends with a batch that has an offset of the second one."""
    plain = [batch for batch in replica.batches(1) if header_of(batch).producer_id < 0]
    replica.write_batches([*replica.batches(), plain[-1]])


def _with_another_epoch(replica: AuditedDirectory) -> None:
    batches = replica.batches()
    batches[-1][EPOCH_POSITION + 3] += 1
    replica.write_batches(batches)


def _with_another_crc(replica: AuditedDirectory) -> None:
    batches = replica.batches()
    stamp(batches[7], CRC_COVERED_POSITION, ">q", header_of(batches[7]).base_timestamp - 1)
    replica.write_batches(batches)


def _without_its_last_batch(replica: AuditedDirectory) -> None:
    """The batch that differs from it is in the next segment, which is the same in both replicas."""
    replica.write_batches(replica.batches()[:-1])


CHANGES = [_with_a_batch_of_the_next_segment, _with_another_epoch, _with_another_crc, _without_its_last_batch]


@pytest.mark.parametrize("change", CHANGES)
def test_another_replica_has_the_findings_of_a_full_audit(
    tmp_path: Path, change: Callable[[AuditedDirectory], None]
) -> None:
    roots = two_replicas(tmp_path)
    audited(roots, tmp_path / "state")
    replica = AuditedDirectory(tmp_path / "copy")
    change(replica)
    shutil.copy(replica.segment(), roots[1] / "t-0" / replica.segment().name)
    full = audit_directories(roots, LOCAL, now_ms=NOW_MS)
    assert "replicas-diverge" in {finding.name for finding in full.findings}
    for _ in range(2):
        assert outcome(audited(roots, tmp_path / "state")) == outcome(full)
