"""Repeated audits of a real Kafka under load: each ends without a finding, because the broker is intact.

Two of three take what the ones before them knew of closed segments.
"""

import os
import time
from pathlib import Path

import pytest

from faults.live_load import BROKER_CONFIGS, LiveLoad
from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.last_run import GROWING
from odradek.pipeline.audit.state_run import begin_run
from odradek.pipeline.engine.engines import LOCAL
from support.kafka.real_kafka import RealKafka

SEED = 16_050
OF_A_SOUND_BROKER = frozenset(
    (
        "cleaner-checkpoint-below-log-start",
        "codecs-mixed",
        "key-skew",
        "leftover-cleaned",
        "leftover-delete-directory",
        "leftover-deleted",
        "leftover-swap",
        "log-tail-torn",
        "partition-changing",
        "partition-gone",
        "partition-skew",
        "segments-below-log-start",
        "batches-tiny",
        "offset-index-sparse",
        "committed-offset-rewound",
    )
)
"""Findings that a busy broker may have. All are of severity INFO."""

OF_A_SLOW_CONSUMER = frozenset(
    ("committed-offset-before-log-start", "consumer-falling-behind", "consumer-stalled", "consumer-stopped", GROWING)
)
"""True findings: under such a load the consumer in Python falls behind, once so far that retention deleted its
records.
"""


def audit_under_load(directory: Path, audits: int, bytes_per_second: int) -> tuple[LiveLoad, float, int]:
    """(the load, seconds, partitions read in all)."""
    kafka = RealKafka(directory, BROKER_CONFIGS)
    with kafka, LiveLoad(kafka.bootstrap_servers, seed=SEED, bytes_per_second=bytes_per_second) as load:
        load.wait_for(bytes_per_second)
        started, before, partitions = time.monotonic(), load.bytes_written, 0
        for number in range(audits):
            state = begin_run(directory / "state", scrub_every=10) if number % 3 else None
            result = audit_directories([kafka.log_dir], LOCAL, state=state)
            load.check()
            wrong = [one for one in result.findings if one.check.severity is not Severity.INFO]
            wrong = [one for one in wrong if one.name not in OF_A_SLOW_CONSUMER]
            assert wrong == [], f"audit {number}, seed {SEED}"
            assert {one.name for one in result.findings} <= OF_A_SOUND_BROKER | OF_A_SLOW_CONSUMER
            assert any(report.records for report in result.partitions)
            partitions += sum(report.is_known for report in result.partitions)
        seconds = time.monotonic() - started
        load.bytes_written -= before
    assert load.topics_deleted
    return load, seconds, partitions


@pytest.mark.nightly
@pytest.mark.java
def test_audits_of_a_live_kafka(tmp_path: Path) -> None:
    audit_under_load(tmp_path, 5, 3 << 20)


@pytest.mark.long
@pytest.mark.java
def test_many_audits_of_a_live_kafka(tmp_path: Path) -> None:
    audits, megabytes = int(os.environ.get("LIVE_AUDITS", "200")), int(os.environ.get("LIVE_AUDIT_MB", "20"))
    load, seconds, partitions = audit_under_load(tmp_path, audits, megabytes * 1_400_000)
    rate = load.bytes_written / seconds / 1_000_000
    print(
        f"{audits} audits of {partitions / audits:.1f} partitions in {seconds:.0f} s beside {rate:.1f} MB/s; "
        f"{load.topics_deleted} topics deleted, {load.producers_replaced} producers replaced"
    )
    assert rate >= megabytes
