"""Lanes give the answers of the general path: every byte of answers, logs, counts and files is compared."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from .traffic import Traffic
from .twins import twins

REQUESTS = 400
CI = 6_000
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


@pytest.mark.ci
@pytest.mark.parametrize("variant", VARIANTS)
async def test_more_requests(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await same_answers(tmp_path, variant, 2, CI, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
async def test_a_million_requests(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = list(VARIANTS)[seed % len(VARIANTS)]
    await same_answers(tmp_path, variant, 1_000 + seed, LONG, monkeypatch)
