"""Odradek answers every request, correct or wrong, to transactions in every state as a real Kafka does.

A script for each state and request: the commands that lead to the state, the request, and a look at the final state.
``a`` is the producer whose transaction has the state. ``b`` is another producer with the same transactional id.
"""

from typing import Any

import pytest

from odradek.protocol.messages.transactions import InitProducerIdRequest
from parity.seeds import live_on
from parity.side import Side, same
from parity.transactional import Transactional
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.ci]

STATES = {
    "nothing": "",
    "empty": "init a",
    "ongoing": "init a; add a; produce a",
    "ongoing, offsets": "init a; offsets a; commit a",
    "ongoing, version 2": "init a; produce a version=12; commit a version=5",
    "committed": "init a; add a; produce a; end a",
    "aborted": "init a; add a; produce a; end a commit=no",
    "committed, version 2": "init a; produce a version=12; end a version=5",
    "aborted, version 2": "init a; produce a version=12; end a commit=no version=5",
    "taken over": "init a; add a; produce a; init b",
    "taken over, ongoing": "init a; add a; produce a; init b; add b; produce b",
    "bumped": "init a; init a known=yes",
}

QUESTIONS = [
    "init a",
    "init a version=1",
    "init a known=yes",
    "init a known=yes version=3",
    "init a known=yes epoch=+1",
    "init a known=yes epoch=-1",
    "init a known=yes id=other",
    "init b",
    "add a",
    "add a version=1",
    "add a epoch=+1",
    "add a epoch=-1",
    "add a id=other",
    "add a topic=nowhere",
    "add a index=9",
    "produce a",
    "produce a version=10",
    "produce a version=12",
    "produce a epoch=+1",
    "produce a epoch=-1 version=12",
    "produce a id=other version=12",
    "produce a sequence=5",
    "offsets a",
    "offsets a version=1",
    "offsets a epoch=+1",
    "offsets a epoch=-1",
    "offsets a id=other",
    "commit a",
    "commit a version=2",
    "commit a version=4",
    "commit a version=5",
    "commit a epoch=+1 version=5",
    "commit a epoch=-1",
    "commit a id=other version=5",
    "commit a version=5 generation_id_or_member_epoch=1 member_id=ghost",
    "commit a version=3 member_id=ghost",
    "end a",
    "end a version=1",
    "end a commit=no",
    "end a version=5",
    "end a version=5 commit=no",
    "end a epoch=+1",
    "end a epoch=-1",
    "end a epoch=+1 version=5",
    "end a epoch=-1 version=5",
    "end a epoch=-1 version=5 commit=no",
    "end a id=other",
    "end a id=other version=5",
]


NEVER_GIVEN = (1_000_000_007, 7)
"""The id and epoch that a producer sends before it has got its own."""
YES_OR_NO: dict[str, Any] = {"yes": True, "no": False}


class Player:
    """Runs commands with one transactional id on one broker."""

    def __init__(self, side: Side, name: str, topic: str, index: int) -> None:
        self.transactional = Transactional(side, name, topic=topic, indexes=(index,))
        self.transactional.who("a").take(*NEVER_GIVEN)

    def play(self, script: str) -> list[Any]:
        """Runs commands, separated by semicolons. Returns their answers."""
        return [self.do(command) for command in map(str.strip, script.split(";")) if command]

    def do(self, command: str) -> Any:
        """Runs one command. ``epoch`` is added to the producer's epoch; ``id`` makes the producer id wrong."""
        verb, who, *rest = command.split()
        fields: dict[str, Any] = {}
        for word in rest:
            name, value = word.split("=")
            fields[name] = YES_OR_NO.get(value, int(value) if value.lstrip("+-").isdigit() else value)
        producer = self.transactional.who(who)
        known = (producer.producer_id, producer.producer_epoch)
        asks = (
            known[0] + 1_000_000 if fields.pop("id", None) else known[0],
            known[1] + fields.pop("epoch", 0),
        )
        if verb == "produce":
            asks = (asks[0], max(asks[1], 0))  # no client writes a batch with an epoch below 0
        producer.producer_id, producer.producer_epoch = asks
        positional = [fields.pop("index")] if "index" in fields else []
        answer = getattr(self.transactional, verb)(who, *positional, **fields)
        if (producer.producer_id, producer.producer_epoch) == asks:
            producer.producer_id, producer.producer_epoch = known
        return answer


@pytest.mark.parametrize("state", STATES)
def test_a_transaction_is_asked(both: TwoBrokers, state: str) -> None:
    prefix = f"scripted-{state}".replace(" ", "").replace(",", "-")
    same(both, lambda side: side.topic(prefix, len(QUESTIONS)))

    def ask(both: TwoBrokers, number: int) -> int:
        def play(side: Side) -> Any:
            player = Player(side, f"{prefix}-{number}", prefix, number)
            question = QUESTIONS[number]
            return [player.play(STATES[state]), question, player.do(question), player.transactional.seen()]

        same(both, play)
        return 1

    live_on(both, ask, range(len(QUESTIONS)), f"{STATES[state]}; {{seed}} of QUESTIONS")


@pytest.mark.parametrize("enable2_pc", [False, True])
@pytest.mark.parametrize("keep_prepared_txn", [False, True])
def test_two_phase_commit_is_served_by_neither(both: TwoBrokers, enable2_pc: bool, keep_prepared_txn: bool) -> None:
    """KIP-939 needs InitProducerId 6, which is unstable in Kafka 4.3: by default, Kafka closes the connection."""
    request = InitProducerIdRequest("two-phase", 60_000, -1, -1, enable2_pc, keep_prepared_txn)
    assert same(both, lambda side: side.answer(request, 6, "two-phase")) == {"closed": True}


def test_there_are_enough_scripts() -> None:
    assert len(STATES) * len(QUESTIONS) > 500
