"""A random audit result of any size, from a seed, for tests of the report."""

import random

from odradek.pipeline.audit.findings import CHECKS, Finding
from odradek.pipeline.audit.groups.facts import GroupGrowth
from odradek.pipeline.audit.groups.rows import GroupLag
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.tasks import DayVolume, PartitionReport, sum_of_days

DAY_MS = 86_400_000
FIRST_DAY_MS = 19_700 * DAY_MS


def random_result(seed: int, partitions: int, *, days: int = 30) -> AuditResult:
    """Topics of one to a hundred partitions, one in ten of which has findings; half as many lags as partitions."""
    rng = random.Random(seed)
    result = AuditResult()
    while len(result.partitions) < partitions:
        topic = f"topic.{len(result.partitions)}-<{rng.choice(('a', 'ß', '&'))}>"
        for index in range(min(rng.choice((1, 3, 12, 100)), partitions - len(result.partitions))):
            result.partitions.append(_report(rng, topic, index, days))
    for report in result.partitions:
        if rng.random() < 0.1:
            for name in rng.sample(sorted(CHECKS), rng.randrange(1, 4)):
                file = f"{report.directory}/{report.topic}-{report.partition}/00.log"
                detail = "it says </script> & <b>"
                found = Finding(name, report.topic, report.partition, file, rng.randrange(-1, 1 << 31), 5, detail)
                report.findings.append(found._replace(occurrences=rng.choice((1, 1, 300))))
        result.findings += report.findings
        if rng.random() < 0.5:
            result.groups.append(_lag(rng, report))
    result.volume = sum_of_days(day for report in result.partitions for day in report.volume)
    for number in range(min(partitions, 40)):
        result.growth.append(
            GroupGrowth(f"group-{number}", number % 50, rng.randrange(9000), bytes=rng.randrange(1 << 40))
        )
    return result


def _report(rng: random.Random, topic: str, index: int, days: int) -> PartitionReport:
    volume = [
        DayVolume(FIRST_DAY_MS + day * DAY_MS, rng.randrange(1000), rng.randrange(1 << 20))
        for day in sorted(rng.sample(range(days), min(days, 3)))
    ]
    size = sum(day.size for day in volume)
    return PartitionReport(
        "/var/lib/kafka/data-1",
        topic,
        index,
        log_end_offset=(1 << 60) + rng.randrange(1000) if rng.random() < 0.01 else rng.randrange(1 << 40),
        high_watermark=rng.choice((-1, 10)),
        segments=3,
        size=size,
        batches=20,
        records=sum(day.records for day in volume),
        max_timestamp=FIRST_DAY_MS + 5,
        decoded_size=rng.choice((-1, size * 3)),
        distinct_keys=rng.choice((-1, 1, 50)),
        largest_key_records=rng.choice((-1, 7, 90)),
        dirty_bytes=rng.choice((-1, 0, size // 2)),
        clean_and_dirty_bytes=size,
        volume=volume,
    )


def _lag(rng: random.Random, report: PartitionReport) -> GroupLag:
    lag = rng.choice((-1, 0, rng.randrange(1 << 40)))
    return GroupLag(
        group=f"group-{rng.randrange(60)}",
        topic=report.topic,
        partition=report.partition,
        committed_offset=7,
        log_start_offset=0,
        log_end_offset=report.log_end_offset,
        lag=lag,
        lag_ms=lag * 10 if lag > 0 else lag,
        status="OK",
        group_status="OK",
        members=rng.randrange(3),
        group_type="classic",
        metadata="",
        leader_epoch=0,
        topic_id="",
        commit_timestamp=FIRST_DAY_MS,
        expires_at=-1,
        at=FIRST_DAY_MS,
    )
