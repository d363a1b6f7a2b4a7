"""Odradek decides by ACLs as a real Kafka does: for every API, with each operation allowed and denied."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from answers.recording import DIRECTORY, Recording
from odradek.broker.dispatch.served import SERVED
from odradek.broker.security.authorization.checks import CHECKS, OPEN, TOKEN_APIS
from odradek.protocol.apis.api_keys import ApiKey, api
from parity.authorization_coverage import AUDIT_OPTION, EXPECTED, Coverage, coverage, table
from parity.authorization_names import TOPICS
from parity.authorization_questions import QUESTIONS
from parity.secured import ADMIN, USER_KEYS, USERS, Secured, ask_under_random_acls, cases, compare
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS
from support.brokers.our_broker import OurBroker
from support.kafka.java import KAFKA_VERSION
from support.kafka.real_kafka import RealKafka

CLIENTS = {
    user: {"address": address, "user": user, "password": "a"} for address, user in ((ADMIN, "admin"), *USERS.items())
}
RANDOM_SETS = 30
"""These sets make 2,210 requests."""
pytestmark = pytest.mark.java


class AuditedKafka(RealKafka):
    """A Kafka that logs each authorization check."""

    def run(self, *options: str) -> None:
        """Starts it."""
        super().run(AUDIT_OPTION, *options)


class Both(NamedTuple):
    """The two brokers, and Kafka's log. During a recording, Kafka alone."""

    sides: tuple[Secured, ...]
    kafka: AuditedKafka


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    with ExitStack() as stack:
        kafka = AuditedKafka(tmp_path_factory.mktemp("kafka"), {**KAFKA_KEYS, **USER_KEYS})
        stack.enter_context(kafka)
        directory, configs = os.environ.get(DIRECTORY), {**SAME_KEYS, **USER_KEYS}
        sides: tuple[Secured, ...]
        if directory:
            recording = Recording()
            stack.callback(recording.write, Path(directory), KAFKA_VERSION, configs, CLIENTS)
            sides = (Secured(kafka.port, has_users=True, recording=recording),)
        else:
            ours = stack.enter_context(OurBroker(tmp_path_factory.mktemp("ours"), configs))
            sides = Secured(ours.port, has_users=True), Secured(kafka.port, has_users=True)
        for side in sides:
            stack.callback(side.close)
            side.prepare()
        yield Both(sides, kafka)


def test_every_api_has_a_check() -> None:
    """Every served API checks authorization, except those that reveal nothing."""
    assert set(CHECKS) | OPEN == set(SERVED)
    asked = {question.make(dict.fromkeys(TOPICS, bytes(16))).API_KEY for question in QUESTIONS}
    assert (set(CHECKS) | TOKEN_APIS | {ApiKey.FETCH}) - asked == set(), "an API without a question"


def test_the_page_has_each_operation() -> None:
    """The table of docs/security.md equals the checks in Kafka's audit log."""
    page = (Path(__file__).parent.parent.parent / "docs" / "security.md").read_text()
    rows = [line for line in page.partition("### What is checked where\n")[2].splitlines() if line.startswith("| ")]
    shown = [f"| {asked} | {'; '.join(map(': '.join, kinds.items()))} |" for asked, kinds in EXPECTED.items()]
    assert rows[1 : len(shown) + 1] == shown


@pytest.mark.ci
@pytest.mark.parametrize("name", [name for name, _ in cases()])
def test_each_operation_allowed_and_denied(both: Both, name: str) -> None:
    """Every API answers as Kafka does if only one operation is allowed, and if only one is denied."""
    differing = compare(both.sides, dict(cases())[name], QUESTIONS)
    assert not differing, "\n".join(one[:1_500] for one in differing)


@pytest.mark.ci
def test_random_acls(both: Both) -> None:
    """Every API answers each of three users as Kafka does, under random ACLs."""
    ask_under_random_acls(both.sides, int(os.environ.get("ACL_SETS", RANDOM_SETS)))


@pytest.mark.ci
def test_each_operation_of_each_api_was_allowed_and_denied(both: Both) -> None:
    """The tests above made the real Kafka run each of its checks, and each check was both allowed and denied."""
    if table(covered(both)) != EXPECTED:  # the other tests have not run
        for _, acls in cases():
            compare(both.sides, acls, QUESTIONS)
        ask_under_random_acls(both.sides, RANDOM_SETS)
    print("\n".join(f"{asked:32} {kinds}" for asked, kinds in table(covered(both)).items()))
    assert table(covered(both)) == EXPECTED
    served = {*CHECKS, *TOKEN_APIS, ApiKey.FETCH}
    without = {ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN}  # need no ACL
    assert {question.api for question in covered(both)} == {api(key).name for key in served - without}


def covered(both: Both) -> Coverage:
    return coverage(both.kafka.output.splitlines(), USERS.values())


@pytest.mark.long
def test_fifty_thousand_questions_under_random_acls(both: Both) -> None:
    """Every API answers as Kafka does, under 750 sets of random ACLs."""
    ask_under_random_acls(both.sides, int(os.environ.get("ACL_SETS", "750")))
