"""Delegation tokens: which principals may renew and expire them, and until when. Times are ms of a test clock."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.delegation_tokens import (
    MAX_REMOVALS,
    MAX_TIME_MS,
    TokenSettings,
    create_token,
    expire_token,
    expired_tokens,
    renew_token,
)
from odradek.broker.metadata.image.delegation_tokens import DelegationToken
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.image.token_hmacs import TokenHmacs
from odradek.broker.metadata.publisher.decision import Decision
from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.security import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from support.brokers.metadata_images import apply, controller, started

SECRET_KEY = "between brokers"
SETTINGS = TokenSettings(max_lifetime_ms=1_000, renew_lifetime_ms=100)
Renewer = CreateDelegationTokenRequest.CreatableRenewers


@dataclass
class World:
    """An image, the HMACs of its tokens, a clock."""

    core: Controller = field(default_factory=controller)
    hmacs: TokenHmacs = field(default_factory=lambda: TokenHmacs(SECRET_KEY))
    now_ms: int = 5_000

    def __post_init__(self) -> None:
        self.image = started(self.core)

    def carry_out(self, steps: Steps[Decision[Any]]) -> Any:
        decision = run_to_end(steps)
        delta = apply(self.image, decision.records)
        self.hmacs.update(self.image.delegation_tokens, delta.changed_tokens)
        assert bool(decision.records) == (decision.response.error_code == ErrorCode.NONE)
        return decision.response

    def create(self, request: CreateDelegationTokenRequest, who: str = "User:alice") -> CreateDelegationTokenResponse:
        created: CreateDelegationTokenResponse = self.carry_out(
            create_token(self.image, request, self.core, self.hmacs, SETTINGS, who, self.now_ms)
        )
        return created

    def renew(self, digest: bytes, period_ms: int = -1, who: str = "User:alice") -> tuple[int, int]:
        request = RenewDelegationTokenRequest(digest, period_ms)
        answer = self.carry_out(renew_token(self.image, request, self.hmacs, SETTINGS, who, self.now_ms))
        return answer.error_code, answer.expiry_timestamp_ms

    def expire(self, digest: bytes, period_ms: int = -1, who: str = "User:alice") -> tuple[int, int]:
        request = ExpireDelegationTokenRequest(digest, period_ms)
        answer = self.carry_out(expire_token(self.image, request, self.hmacs, who, self.now_ms))
        return answer.error_code, answer.expiry_timestamp_ms


def test_a_token_is_for_its_requester_unless_it_names_another_owner() -> None:
    """The HMAC is HMAC-SHA-512 of the token's id by the secret key."""
    world = World()
    own = world.create(CreateDelegationTokenRequest(max_lifetime_ms=-1))
    assert (own.principal_type, own.principal_name) == ("User", "alice")
    assert (own.issue_timestamp_ms, own.expiry_timestamp_ms, own.max_timestamp_ms) == (5_000, 5_100, 6_000)
    assert own.hmac == hmac.digest(SECRET_KEY.encode(), own.token_id.encode(), hashlib.sha512)
    other = world.create(CreateDelegationTokenRequest("User", "bob:b", [Renewer("User", "carol")], 50))
    assert (other.principal_type, other.principal_name) == ("User", "bob:b")
    assert (other.expiry_timestamp_ms, other.max_timestamp_ms) == (5_050, 5_050)
    assert world.image.delegation_tokens[other.token_id] == DelegationToken(
        other.token_id, "User:bob:b", "User:alice", ("User:carol",), 5_000, 5_050, 5_050
    )
    assert world.hmacs.id_of(other.hmac) == other.token_id != own.token_id


def test_only_users_renew() -> None:
    refused = World().create(CreateDelegationTokenRequest(renewers=[Renewer("User", "a"), Renewer("Group", "b")]))
    assert (refused.error_code, refused.hmac) == (ErrorCode.INVALID_PRINCIPAL_TYPE, b"")


def test_owner_and_renewers_move_the_expiry_up_to_the_latest_time() -> None:
    world = World()
    made = world.create(CreateDelegationTokenRequest("User", "bob", [Renewer("User", "carol")], 0), "User:alice")
    world.now_ms += 60
    assert world.renew(made.hmac, -1, "User:carol") == (0, 5_160)
    assert world.renew(made.hmac, 30, "User:bob") == (0, 5_090)
    assert world.renew(made.hmac, 5_000, "User:bob") == (0, 5_160)
    assert world.renew(made.hmac, 30, "User:alice")[0] == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert world.expire(made.hmac, 10, "User:alice")[0] == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert world.expire(made.hmac, 900, "User:carol") == (0, 5_960)
    world.now_ms = 5_950
    assert world.renew(made.hmac, -1, "User:bob") == (0, 6_000)
    assert world.renew(b"unknown")[0] == world.expire(b"unknown")[0] == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert world.expire(made.hmac, MAX_TIME_MS, "User:bob") == (0, 6_000)


def test_an_expired_token_can_only_be_removed() -> None:
    """It is still valid at its expiry time. Its owner or the broker removes it."""
    world = World()
    made = [world.create(CreateDelegationTokenRequest()) for _ in range(2)]
    world.now_ms = 5_100
    assert not expired_tokens(world.image, world.now_ms)
    world.now_ms = 5_101
    assert world.renew(made[0].hmac)[0] == world.expire(made[0].hmac, 0)[0] == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert world.expire(made[0].hmac, -1) == (0, 5_101)
    assert world.renew(made[0].hmac)[0] == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    apply(world.image, expired_tokens(world.image, world.now_ms))
    assert not world.image.delegation_tokens


def test_one_round_removes_a_thousand_tokens_at_most() -> None:
    image = MetadataImage()
    for number in range(MAX_REMOVALS + 7):
        image.delegation_tokens[str(number)] = DelegationToken(str(number), "User:a", "User:a", (), 1, 2, 3)
    for left in (7, 0):
        apply(image, expired_tokens(image, 3))
        assert len(image.delegation_tokens) == left


def test_without_a_key_or_with_old_metadata_there_are_no_tokens() -> None:
    world = World()
    request = CreateDelegationTokenRequest()
    answer = run_to_end(create_token(world.image, request, world.core, None, SETTINGS, "User:a", 5_000)).response
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    world.image.features["metadata.version"] = 13
    assert world.create(request).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert world.renew(b"x")[0] == world.expire(b"x")[0] == ErrorCode.UNSUPPORTED_VERSION


def test_nothing_shows_an_hmac_or_the_key() -> None:
    world = World()
    made = world.create(CreateDelegationTokenRequest())
    described = DescribeDelegationTokenResponse.DescribedDelegationToken(hmac=made.hmac)
    renewal = RenewDelegationTokenRequest(made.hmac)
    shown = f"{world.hmacs!r} {made!r} {described!r} {renewal!r} {world.image!r}"
    for form in (repr(made.hmac), made.hmac.hex(), base64.b64encode(made.hmac).decode(), SECRET_KEY):
        assert form not in shown
    assert shown.count("[hidden]") == 3


@pytest.mark.parametrize("seed", range(20))
def test_the_index_of_hmacs_follows_the_image(seed: int) -> None:
    """After random changes by random users, the index has exactly the tokens of the image."""
    random = Random(seed)
    world, digests = World(), [b"never"]
    for _ in range(200):
        world.now_ms += random.choice((0, 1, 40, 300))
        who = random.choice(("User:alice", "User:bob"))
        chosen, period_ms = random.choice(digests), random.choice((-1, 0, 1, 70, 5_000))
        match random.randrange(4):
            case 0:
                digests.append(world.create(CreateDelegationTokenRequest(max_lifetime_ms=period_ms), who).hmac)
            case 1:
                world.renew(chosen, period_ms, who)
            case 2:
                world.expire(chosen, period_ms, who)
            case _:
                delta = apply(world.image, expired_tokens(world.image, world.now_ms))
                world.hmacs.update(world.image.delegation_tokens, delta.changed_tokens)
        named = {world.hmacs.id_of(digest) for digest in digests} - {None}
        assert named == set(world.image.delegation_tokens), f"seed {seed}"
        fresh = TokenHmacs(SECRET_KEY)
        fresh.update(world.image.delegation_tokens, world.image.delegation_tokens)
        assert {fresh.id_of(digest) for digest in digests} - {None} == named, f"seed {seed}"
