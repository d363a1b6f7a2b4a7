"""A directory with delegation tokens moves from Odradek to a real Kafka and back. Clients log in at both."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.security import CreateDelegationTokenRequest, ExpireDelegationTokenRequest
from parity.test_delegation_tokens import CONFIG, KAFKA_CONFIG, TokenSide
from support.brokers.our_broker import OurBroker
from support.brokers.sasl_line import LoginFailed, SaslLine
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]


def create(side: TokenSide) -> Any:
    """Alice creates a token for Bob, which an ACL allows."""
    request = CreateDelegationTokenRequest("User", "bob", [], 200_000_000)
    assert side.change("alice", request, 3)[0] == 0
    return side.tokens[-1]


def logs_in(side: TokenSide, token: Any) -> bool:
    """Returns True if a client logs in as Bob with a token."""
    for name in ("sha256", "sha512"):
        with closing(SaslLine(side.port)) as line:
            try:
                line.by_token(token.token_id, bytes(token.hmac), name)
            except LoginFailed:
                return False
            assert line.ask(CreateDelegationTokenRequest(), 3).principal_name == "bob"
            assert not line.ask(MetadataRequest([]), 12).topics
    return True


def test_tokens_of_both_brokers_log_in_at_both(tmp_path: Path) -> None:
    """Odradek creates two tokens, Kafka removes one and creates another, Odradek serves the remaining two."""
    with OurBroker(tmp_path, CONFIG) as ours, closing(TokenSide(ours.port)) as side:
        side.allow()
        kept, removed = create(side), create(side)
        seen = side.described("carol", ["bob"], 3)
        ours.stop()
    with RealKafka(tmp_path, KAFKA_CONFIG) as kafka, closing(TokenSide(kafka.port)) as side:
        side.tokens = [kept, removed]
        assert side.described("carol", ["bob"], 3) == seen
        assert logs_in(side, kept)
        assert side.change("bob", ExpireDelegationTokenRequest(removed.hmac, -1), 2)[0] == 0
        of_kafka = create(side)
    with OurBroker(tmp_path, CONFIG) as ours, closing(TokenSide(ours.port)) as side:
        side.tokens = [kept, of_kafka]
        assert [one[0] for one in side.described("carol", ["bob"], 3)] == [0, 1]
        assert logs_in(side, kept)
        assert logs_in(side, of_kafka)
        assert not logs_in(side, removed)
