"""ACLs decide at ours as they do at a real Kafka: every API, with each operation allowed and denied."""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from odradek.broker.authorization.checks import CHECKS, OPEN
from odradek.broker.dispatch.served import ANNOUNCED
from parity.authorization_names import TOPICS
from parity.authorization_questions import QUESTIONS
from parity.secured import AUTHORIZER_KEYS, Secured, ask_under_random_acls, cases, compare
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS
from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Secured, Secured]]:
    with ExitStack() as stack:
        ours = stack.enter_context(OurBroker(tmp_path_factory.mktemp("ours"), {**SAME_KEYS, **AUTHORIZER_KEYS}))
        kafka = stack.enter_context(RealKafka(tmp_path_factory.mktemp("kafka"), {**KAFKA_KEYS, **AUTHORIZER_KEYS}))
        sides = Secured(ours.port), Secured(kafka.port)
        for side in sides:
            stack.callback(side.close)
            side.prepare()
        yield sides


def test_every_api_has_a_check() -> None:
    """No API is served without a check, except those that tell nothing."""
    assert set(CHECKS) | OPEN == set(ANNOUNCED)
    asked = {question.make(dict.fromkeys(TOPICS, bytes(16))).API_KEY for question in QUESTIONS}
    assert set(CHECKS) - asked == set(), "an API without a question"


@pytest.mark.ci
def test_each_operation_allowed_and_denied(secured: tuple[Secured, Secured]) -> None:
    """Every API answers as Kafka's when an operation is the only one that is allowed, and the only one denied."""
    differing = {name: found for name, acls in cases() if (found := compare(secured, acls, QUESTIONS))}
    assert not differing, "\n".join(f"{name}: {one[:1_500]}" for name, found in differing.items() for one in found)


@pytest.mark.ci
def test_random_acls(secured: tuple[Secured, Secured]) -> None:
    """Every API answers as Kafka's under random ACLs."""
    ask_under_random_acls(secured, int(os.environ.get("ACL_SETS", "12")))


@pytest.mark.long
def test_fifty_thousand_questions_under_random_acls(secured: tuple[Secured, Secured]) -> None:
    """Every API answers as Kafka's under 750 sets of random ACLs."""
    ask_under_random_acls(secured, int(os.environ.get("ACL_SETS", "750")))
