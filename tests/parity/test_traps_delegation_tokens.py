"""Odradek answers requests about delegation tokens on a listener without authentication as a real Kafka does."""

from collections.abc import Callable

import pytest

from odradek.protocol.messages.security import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from odradek.protocol.messages.structure import Message
from parity.side import same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

Renewer = CreateDelegationTokenRequest.CreatableRenewers
Owner = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner


def own(version: int) -> Message:
    """The client's own token: before version 3 a request names no owner."""
    owner = None if version > 2 else ""
    return CreateDelegationTokenRequest(owner, owner, [], -1)


REQUESTS: list[tuple[str, tuple[int, ...], Callable[[int], Message]]] = [
    ("own", (1, 2, 3), own),
    ("renewers", (1, 2, 3), lambda version: CreateDelegationTokenRequest(renewers=[Renewer("Group", "a")])),
    ("other's", (3,), lambda version: CreateDelegationTokenRequest("User", "alice", [], 5)),
    ("renew", (1, 2), lambda version: RenewDelegationTokenRequest(b"x", 7)),
    ("expire", (1, 2), lambda version: ExpireDelegationTokenRequest(b"x", -1)),
    ("describe all", (1, 2, 3), lambda version: DescribeDelegationTokenRequest(None)),
    ("describe none", (1, 2, 3), lambda version: DescribeDelegationTokenRequest([])),
    ("describe one", (1, 2, 3), lambda version: DescribeDelegationTokenRequest([Owner("User", "a")])),
]


@pytest.mark.parametrize(
    ("version", "make"),
    [pytest.param(version, make, id=f"{name} {version}") for name, versions, make in REQUESTS for version in versions],
)
def test_a_plaintext_listener_takes_no_request_about_tokens(
    both: TwoBrokers, version: int, make: Callable[[int], Message]
) -> None:
    answer = same(both, lambda side: side.ask(make(version), version))
    assert answer["errorCode"] == 64
