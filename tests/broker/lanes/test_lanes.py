"""Lanes give the answers of the general path: every byte of answers, logs, counts and files is compared."""

import gc
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.groups import HeartbeatRequest, OffsetCommitRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record

from .traffic import Traffic
from .twins import NOW_MS, twins

REQUESTS = 400
NIGHTLY = 6_000
LONG = 100_000
METRICS = {"odradek.metrics.listener": "127.0.0.1:0"}
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "allow.everyone.if.no.acl.found": "true",
}
VARIANTS: dict[str, Mapping[str, str]] = {
    "plain": {},
    "metrics": METRICS,
    "authorizer": AUTHORIZER,
    "quotas": METRICS,
}


async def same_answers(
    directory: Path, variant: str, seed: int, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replay: ``same_answers(directory, variant, seed, requests, monkeypatch)`` with the numbers of the failure."""
    async with twins(directory, VARIANTS[variant], monkeypatch) as both:
        traffic = Traffic(both, Random(seed), has_quotas=variant == "quotas")
        await traffic.begin()
        await traffic.run(requests)
        both.compare()
        assert both.served > requests // 4, "lanes have served too few requests for this test to show anything"


@pytest.mark.parametrize("variant", VARIANTS)
async def test_lanes_answer_as_the_general_path(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await same_answers(tmp_path, variant, 1, REQUESTS, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("variant", VARIANTS)
async def test_more_requests(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await same_answers(tmp_path, variant, 2, NIGHTLY, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
async def test_a_million_requests(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = list(VARIANTS)[seed % len(VARIANTS)]
    await same_answers(tmp_path, variant, 1_000 + seed, LONG, monkeypatch)


async def test_long_names_are_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane remembers thousands of requests by their first bytes, in which a client id can have 32 KiB."""
    async with twins(tmp_path, {}, monkeypatch) as both:
        await Traffic(both, Random(1)).begin()
        records = encode_batch([Record(0, NOW_MS, None, b"value", [])])
        data = ProduceRequest.TopicProduceData("plain", bytes(16), [ProduceRequest.PartitionProduceData(0, records)])
        committed = OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic("plain", partitions=[committed])
        requests: list[tuple[Message, int]] = [
            (ProduceRequest(None, 1, 1_000, [data]), 9),
            (OffsetCommitRequest("readers", 1, "member", topics=[topic]), 8),
            (HeartbeatRequest("readers", 1, "member"), 4),
            (MetadataRequest([MetadataRequest.MetadataRequestTopic(name="plain")]), 12),
            (ApiVersionsRequest("name", "1"), 3),
        ]
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for number in range(100):
                for request, version in requests:
                    await both.ask(0, encode_request(request, version, 1, str(number).ljust(30_000, "x")))
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert after - before < 5_000_000, "the names have 15 MB; the modules that are imported meanwhile have 2 MB"
