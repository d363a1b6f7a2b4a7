"""Odradek answers every request, correct or wrong, to groups in every state as a real Kafka does.

A script for each state and request: the requests that lead to the state, the request, and DescribeGroups after it.
"""

import pytest

from parity.coordination import Group, play
from parity.side import Side, same
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC = "scripted"

STATES = {
    "absent": "",
    "simple": "nobody commit gen=-1 offset=3",
    "pending": "a first",
    "completing": "a join",
    "stable": "a join; a sync; a commit offset=5",
    "empty": "a join; a sync; a commit offset=5; a leave",
    "deleted": "a join; a sync; a leave; delete",
    "static": "a join inst=i; a sync; a commit offset=5",
    "replaced": "a join inst=i; a sync; b join inst=i; b sync",
    "other type": "a join type=connect; a sync",
    "preparing": "a join; a sync; b join",
    "two, completing": "a join; a sync; b join; a join",
    "two, one synced": "a join; a sync; b join; a join; b sync",
    "two": "a join; a sync; b join; a join; b sync; a sync",
    "subscribed": "a join protocols=range:scripted; a sync; a commit offset=5; a commit partition=1",
    "two static": "a join inst=i; a sync; b join inst=j; a join; b sync; a sync",
    "one pending": "a join; a sync; b first",
}
"""State -> the script that leads to it; ``a`` is the first member, ``b`` the second."""

QUESTIONS = {
    "heartbeat": [
        "a heartbeat",
        "a heartbeat gen=+1",
        "a heartbeat gen=-1",
        "ghost heartbeat gen=1",
        "a heartbeat member=",
        "a heartbeat inst=i",
        "a heartbeat inst=strange",
        "a heartbeat group=",
    ],
    "sync": [
        "a sync",
        "a sync gen=+1",
        "a sync gen=-1",
        "ghost sync gen=1",
        "a sync inst=i",
        "a sync inst=strange",
        "a sync v=5 protocol=other",
        "a sync v=5 type=other",
        "a sync v=0",
    ],
    "commit": [
        "a commit",
        "a commit gen=+1",
        "a commit gen==-1",
        "ghost commit gen=1",
        "nobody commit gen=-1",
        "nobody commit gen==0",
        "a commit inst=strange",
        "a commit v=9",
        "a commit v=9 gen=+1",
        "ghost commit v=9 gen=1",
        "a commit v=2",
        "a commit metadata=4097",
        "a commit topic=nowhere",
        "a commit partition=9",
    ],
    "join": [
        "a join",
        "a join v=9",
        "a join v=3",
        "a join protocols=sticky:t",
        "a join protocols=range:another",
        "a join protocols=",
        "a join type=connect",
        "a join type=",
        "ghost join",
        "a join member=ghost",
        "a join inst=strange",
        "c first",
        "c first v=3 type=connect",
        "c first protocols=sticky:t",
        "c join inst=i",
        "c join inst=i v=9",
        "c join inst=i v=9 protocols=range:another",
        "c join session=5999",
        "c join session=1800001",
    ],
    "leave": [
        "a leave",
        "a leave v=2",
        "ghost leave",
        "ghost leave v=0",
        "a leave members=/i",
        "a leave members=/strange",
        "a leave members=a/strange",
        "a leave members=a,ghost,a",
        "a leave members=a,b",
        "a leave members=",
    ],
    "transaction": [
        "a txn",
        "a txn v=3",
        "a txn gen=+1",
        "a txn gen==-1",
        "a txn member=",
        "a txn inst=strange",
        "nobody txn gen=-1",
        "nobody txn gen==0",
        "ghost txn gen=1",
        "a txn topic=nowhere",
    ],
    "admin": [
        "look v=5",
        "look v=6",
        "look v=4",
        "fetch",
        "fetch stable=yes",
        "forget",
        "forget topic=nowhere",
        "delete",
    ],
}

AFTER = {
    "heartbeat": "look",
    "sync": "look; a heartbeat",
    "commit": "look; fetch",
    "join": "look; a heartbeat",
    "leave": "look; a heartbeat",
    "transaction": "look; fetch; fetch stable=yes",
    "admin": "look; fetch",
}
"""The final requests of a script, which show the resulting state."""

DIFFERENT = {
    # Kafka forgets the parked SyncGroup of a member that leaves. Odradek answers it (docs/groups.md).
    ("two, one synced", "a leave members=a,b"),
}

SCRIPTS = [
    (state, question)
    for state in STATES
    for questions in QUESTIONS.values()
    for question in questions
    if (state, question) not in DIFFERENT
]


@pytest.fixture(scope="module", autouse=True)
def topic(both: TwoBrokers) -> None:
    """The topic, on Odradek during a recording, too: groups are always played on both."""
    same(both, lambda side: side.topic(TOPIC, 2))
    if both.recording is not None:
        Side(both.wire, both.ours.port, True).topic(TOPIC, 2)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("api", QUESTIONS)
def test_a_group_is_asked(both: TwoBrokers, state: str, api: str) -> None:
    for number, question in enumerate(QUESTIONS[api]):
        if (state, question) in DIFFERENT:
            continue
        name = f"scripted-{state}-{api}-{number}".replace(" ", "")
        assert play(both, name, TOPIC, [STATES[state], question, AFTER[api]])


LISTS = [
    "list states=Stable",
    "list states=stable,EMPTY",
    "list states=PreparingRebalance,CompletingRebalance",
    "list states=Dead,nonsense",
    "list types=classic",
    "list types=consumer",
    "list types=Classic,nonsense",
    "list states=Stable types=classic",
    "list",
    "list v=4 states=Empty",
    "list v=3",
]


def test_groups_in_every_state_are_listed(both: TwoBrokers) -> None:
    for number, script in enumerate(STATES.values()):
        play(both, f"listed-{number}", TOPIC, [script])
    play(both, "listed", TOPIC, LISTS)


# Timeouts are at least six seconds. The first scripts of all groups run one after the other within that time.
LATE = {
    "the session is over": (
        "a join session=6000; a sync; b join",
        "b wait; look; a heartbeat; a commit; a sync; a txn; a leave; a join; b sync; look",
    ),
    "the rebalance is over": (
        "a join rebalance=6000; a sync; b join rebalance=6000",
        "b wait; look; a heartbeat; a commit; a sync; a leave; b sync; look",
    ),
    "the rebalance is over for a static member": (
        "a join inst=i rebalance=6000; a sync; b join rebalance=6000",
        "b wait; look; a heartbeat; a heartbeat gen=+1; a commit; a sync; b sync; a sync gen=+1; look",
    ),
    "the rebalance is over for the leader of two": (
        "a join rebalance=6000; a sync; b join rebalance=6000; a join rebalance=6000; b sync; a sync; "
        "b join rebalance=6000",
        "a heartbeat; b wait; look; a heartbeat; a commit; b sync; look",
    ),
    "the pending member did not come back": (
        "a join session=9000; a sync; b first session=9000; c join session=9000; a join session=9000",
        "c wait; a wait; b join; look",
    ),
}


def test_who_is_late_is_told(both: TwoBrokers) -> None:
    groups = [Group(both, f"late-{number}", TOPIC) for number in range(len(LATE))]
    for group, (before, _) in zip(groups, LATE.values(), strict=True):
        group.play(before)
    for group, (_, after) in zip(groups, LATE.values(), strict=True):
        group.play(after)
        group.steps.close()


def test_there_are_enough_scripts() -> None:
    assert len(SCRIPTS) > 900
