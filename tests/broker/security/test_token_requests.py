"""Only clients that logged in without a token may request tokens. Expired tokens are removed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.metadata.image.delegation_tokens import DelegationToken
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.security.token_requests import allows_token_requests, refused_creation
from odradek.broker.server.background import remove_expired_tokens
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import RemoveDelegationTokenRecord
from odradek.protocol.messages.security import CreateDelegationTokenRequest

ANONYMOUS, ALICE = "User:ANONYMOUS", "User:alice"
PROTOCOLS = {one: one for one in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")}


class Context(RequestContext):
    """The context of a request on a listener that has the name of its protocol."""

    def __init__(self, protocol: str, principal: str, by_token: bool) -> None:
        super().__init__(38, 3, "client", "127.0.0.1", protocol, 1, 0, principal=principal)
        self._by_token = by_token

    def is_by_token(self) -> bool:
        return self._by_token


@pytest.mark.parametrize(
    ("protocol", "principal", "by_token", "is_allowed"),
    [
        ("PLAINTEXT", ANONYMOUS, False, False),
        ("PLAINTEXT", ALICE, False, False),
        ("SSL", ANONYMOUS, False, False),
        ("SSL", "User:CN=alice", False, True),
        ("SASL_PLAINTEXT", ALICE, False, True),
        ("SASL_SSL", ALICE, False, True),
        ("SASL_SSL", ALICE, True, False),
        ("a listener that is gone", ALICE, False, False),
    ],
)
def test_only_a_known_client_that_has_used_no_token_may_ask(
    protocol: str, principal: str, by_token: bool, is_allowed: bool
) -> None:
    context = Context(protocol, principal, by_token)
    assert allows_token_requests(PROTOCOLS, context) is is_allowed
    refused = refused_creation(PROTOCOLS, CreateDelegationTokenRequest(), context)
    if is_allowed:
        assert refused is None
    else:
        assert refused is not None
        assert refused.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        assert (refused.issue_timestamp_ms, refused.token_id, refused.hmac) == (-1, "", b"")


def test_expired_tokens_are_removed_at_each_interval() -> None:
    """A broker without tokens sets no timer."""
    image = MetadataImage()
    for number, expiry_ms in enumerate((50, 150, 10_000)):
        image.delegation_tokens[str(number)] = DelegationToken(str(number), ALICE, ALICE, (), 0, 20_000, expiry_ms)
    times_ms = [100, 200, 300]
    timers: list[Any] = []
    removed: list[list[str]] = []

    def record(records: Callable[[], list[Any]], at_ms: int, failed: object) -> None:
        found = records()
        removed.append([one.token_id for one in found if isinstance(one, RemoveDelegationTokenRecord)])
        for one in found:
            del image.delegation_tokens[one.token_id]

    broker = SimpleNamespace(
        token_hmacs=object(),
        is_cluster_member=False,
        own_metadata=SimpleNamespace(image=image, record=record),
        static_config=SimpleNamespace(get_int=lambda key: 100),
    )
    schedule = SimpleNamespace(schedule=lambda delay_ms, run: timers.append((delay_ms, run)))
    remove_expired_tokens(broker, schedule, lambda: times_ms[0])  # type: ignore[arg-type]
    while times_ms:
        [(delay_ms, run)] = timers
        timers.clear()
        assert delay_ms == 100
        run()
        times_ms.pop(0)
    assert removed == [["0"], ["1"], []]
    broker.token_hmacs = None
    timers.clear()
    remove_expired_tokens(broker, schedule, lambda: 0)  # type: ignore[arg-type]
    assert not timers
