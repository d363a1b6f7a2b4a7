"""Odradek and a real Kafka answer random requests about several users' delegation tokens alike, and accept logins with
the tokens."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import Any

import pytest

from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.security import (
    CreateAclsRequest,
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.security.acl import AclOperation, AclPermission, AclResourceType, PatternType
from support.brokers.our_broker import OurBroker
from support.brokers.sasl_line import LoginFailed, SaslLine
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

MODULES = "org.apache.kafka.common.security"
PLAIN = (
    f'{MODULES}.plain.PlainLoginModule required username="admin" password="a" '
    'user_admin="a" user_alice="a" user_bob="a" user_carol="a";'
)
SCRAM = f"{MODULES}.scram.ScramLoginModule required;"
CONFIG = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": PLAIN,
    "listener.name.plaintext.scram-sha-256.sasl.jaas.config": SCRAM,
    "listener.name.plaintext.scram-sha-512.sasl.jaas.config": SCRAM,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "delegation.token.secret.key": "one key for all",
    "delegation.token.max.lifetime.ms": "900000000",
    "delegation.token.expiry.time.ms": "300000000",
    "delegation.token.expiry.check.interval.ms": "86400000",
}
KAFKA_CONFIG = {
    **CONFIG,
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": PLAIN,
}
USERS = ("admin", "alice", "bob", "carol")
PERIODS_MS = (-5, -1, 0, 200_000_000, 600_000_000, 4_000_000_000, (1 << 63) - 1)
ROUNDED_MS = 50_000_000
"""Times are compared in units of this length. A test takes less than a quarter of it."""
STEPS = int(os.environ.get("TOKEN_STEPS", "250"))
Renewer = CreateDelegationTokenRequest.CreatableRenewers
Owner = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner


class TokenSide:
    """One broker, and its tokens in the order of their creation."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.lines = {user: SaslLine(port).plain(user, "a") for user in USERS}
        self.tokens: list[Any] = []

    def close(self) -> None:
        for line in self.lines.values():
            line.close()

    def allow(self) -> None:
        """Creates ACLs: Alice may create tokens for Bob, and Carol may see Bob's tokens."""
        creation, allow = CreateAclsRequest.AclCreation, AclPermission.ALLOW
        user, literal = AclResourceType.USER, PatternType.LITERAL
        create, describe = AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS
        acls = [
            creation(user, "User:bob", literal, "User:alice", "*", create, allow),
            creation(user, "User:bob", literal, "User:carol", "*", describe, allow),
        ]
        self.lines["admin"].ask(CreateAclsRequest(acls), 3)

    def described(self, user: str, owners: list[str] | None, version: int) -> list[tuple[object, ...]]:
        """The tokens that a user sees, identified by their numbers."""
        asked = None if owners is None else [Owner("User", owner) for owner in owners]
        answer = self.lines[user].ask(DescribeDelegationTokenRequest(asked), version)
        if answer.error_code:
            return [(answer.error_code,)]
        numbers = {bytes(token.hmac): number for number, token in enumerate(self.tokens)}
        return sorted(
            (
                numbers[bytes(one.hmac)],
                *(one.principal_type, one.principal_name),
                *(one.token_requester_principal_type, one.token_requester_principal_name),
                *(rounded(one.expiry_timestamp), rounded(one.max_timestamp)),
                *sorted((each.principal_type, each.principal_name) for each in one.renewers),
            )
            for one in answer.tokens
        )

    def change(self, user: str, request: Message, version: int) -> tuple[object, ...]:
        """Sends a request, and waits until the broker shows the change. Returns the comparable part of the answer."""
        answer = self.lines[user].ask(request, version)
        if not isinstance(request, CreateDelegationTokenRequest):
            eventually("the change is known", lambda: self._knows(request, answer))
            return answer.error_code, rounded(answer.expiry_timestamp_ms)
        if not answer.error_code:
            self.tokens.append(answer)
            eventually("the token is known", lambda: bytes(answer.hmac) in self._expiries())
        times = [rounded(one) for one in (answer.issue_timestamp_ms, answer.expiry_timestamp_ms)]
        who = answer.principal_type, answer.principal_name
        requester = answer.token_requester_principal_type, answer.token_requester_principal_name
        return answer.error_code, *who, *requester, *times, rounded(answer.max_timestamp_ms), len(answer.hmac)

    def _expiries(self) -> dict[bytes, int]:
        answer = self.lines["admin"].ask(DescribeDelegationTokenRequest(None), 3)
        return {bytes(one.hmac): one.expiry_timestamp for one in answer.tokens}

    def _knows(self, request: Any, answer: Any) -> bool:
        if answer.error_code:
            return True
        known = self._expiries().get(bytes(request.hmac))
        is_removal = isinstance(request, ExpireDelegationTokenRequest) and request.expiry_time_period_ms < 0
        return known is None if is_removal else known == answer.expiry_timestamp_ms


def rounded(time_ms: int) -> int | str:
    """The time from now in units of ROUNDED_MS. Values that stand for an error are unchanged."""
    return time_ms if time_ms <= 0 else f"in {round((time_ms - time.time() * 1000) / ROUNDED_MS)}"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TokenSide, TokenSide]]:
    with ExitStack() as stack:
        ours = stack.enter_context(OurBroker(tmp_path_factory.mktemp("ours"), CONFIG))
        kafka = stack.enter_context(RealKafka(tmp_path_factory.mktemp("kafka"), KAFKA_CONFIG))
        made = TokenSide(ours.port), TokenSide(kafka.port)
        for side in made:
            stack.callback(side.close)
            side.allow()
        yield made


def random_change(random: Random, count: int) -> tuple[str, Any, int]:
    """A user, a request and its version. Its HMAC is a token's number, to be replaced by each broker's HMAC."""
    user = random.choice(USERS)
    kind = random.randrange(5) if count else 0
    if kind < 2:
        version = random.randint(1, 3)
        owner = random.choice((None, "", "bob", "bob", "carol")) if version == 3 else ""
        renewers = random.sample(["alice", "bob", "carol", "dave"], random.choice((0, 0, 1, 2)))
        kinds = [*["User"] * 9, "Group"]
        listed = [Renewer(random.choice(kinds), name) for name in renewers]
        period_ms = random.choice(PERIODS_MS)
        return user, CreateDelegationTokenRequest("User" if owner else "", owner, listed, period_ms), version
    request: Any = RenewDelegationTokenRequest if kind == 2 else ExpireDelegationTokenRequest
    return user, request(random.choice((*range(count), -1)), random.choice(PERIODS_MS)), random.randint(1, 2)


@pytest.mark.parametrize("seed", [int(os.environ.get("TOKEN_SEED", "1"))])
def test_random_requests_of_several_users(sides: tuple[TokenSide, TokenSide], seed: int) -> None:
    """Answers are equal except ids and HMACs, and each user sees the same tokens on both brokers."""
    random = Random(seed)
    again = f"TOKEN_SEED={seed} TOKEN_STEPS={STEPS} pytest tests/parity/test_delegation_tokens.py -k random"
    for step in range(STEPS):
        assert len(sides[0].tokens) == len(sides[1].tokens)
        if random.random() < 0.3:
            user, owners = random.choice(USERS), random.choice((None, [], ["bob"], ["alice", "dave"], ["carol"]))
            version = random.randint(1, 3)
            answers: list[object] = [side.described(user, owners, version) for side in sides]
            assert answers[0] == answers[1], f"step {step}: {user} sees {owners}: {answers}; {again}"
            continue
        user, request, version = random_change(random, len(sides[0].tokens))
        number = getattr(request, "hmac", None)
        found = []
        for side in sides:
            if number is not None:
                request.hmac = b"unknown" if number == -1 else bytes(side.tokens[number].hmac)
            found.append(side.change(user, request, version))
        assert found[0] == found[1], f"step {step}: {user} asks {request!r} of token {number}: {found}; {again}"


def test_a_client_logs_in_with_a_token_as_its_owner(sides: tuple[TokenSide, TokenSide]) -> None:
    """The session lasts as long as the token. A token creates no other tokens. A removed or wrong token fails."""
    for side in sides:
        request = CreateDelegationTokenRequest("User", "bob", [], 200_000_000)
        assert side.change("alice", request, 3)[0] == 0
        made = side.tokens[-1]
        for name in ("sha256", "sha512"):
            line = SaslLine(side.port).by_token(made.token_id, bytes(made.hmac), name)
            assert 190_000_000 < line.session_ms <= 200_000_000
            assert not line.ask(MetadataRequest([]), 12).topics
            assert line.ask(CreateDelegationTokenRequest(), 3).error_code == 64
            assert line.ask(CreateDelegationTokenRequest(), 3).principal_name == "bob"
            assert line.ask(RenewDelegationTokenRequest(made.hmac, -1), 2).error_code == 64
            assert line.ask(ExpireDelegationTokenRequest(made.hmac, -1), 2).error_code == 64
            assert line.ask(DescribeDelegationTokenRequest(None), 3).error_code == 64
            line.close()
        with pytest.raises(LoginFailed, match="invalid credentials with SASL mechanism SCRAM-SHA-256"):
            SaslLine(side.port).by_token(made.token_id, bytes(64))
        with pytest.raises(LoginFailed):
            SaslLine(side.port).scram(made.token_id, "x")
        assert side.change("bob", ExpireDelegationTokenRequest(made.hmac, -1), 2)[0] == 0
        with pytest.raises(LoginFailed):
            SaslLine(side.port).by_token(made.token_id, bytes(made.hmac))


def is_past(time_ms: int) -> bool:
    return time.time() * 1000 > time_ms


def test_an_expired_token_is_known_until_it_is_removed(sides: tuple[TokenSide, TokenSide]) -> None:
    for side in sides:
        assert side.change("bob", CreateDelegationTokenRequest(max_lifetime_ms=1), 2)[0] == 0
        made = side.tokens[-1]
        eventually("the token has expired", partial(is_past, made.expiry_timestamp_ms + 1))
        assert side.change("bob", RenewDelegationTokenRequest(made.hmac, -1), 2)[0] == 66
        assert side.change("bob", ExpireDelegationTokenRequest(made.hmac, 5), 2)[0] == 66
        assert len(side.tokens) - 1 in [one[0] for one in side.described("bob", None, 3)]
        assert side.change("bob", ExpireDelegationTokenRequest(made.hmac, -1), 2)[0] == 0
        assert side.change("bob", ExpireDelegationTokenRequest(made.hmac, -1), 2)[0] == 62
