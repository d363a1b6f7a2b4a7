"""The follower's side of a fetch session with the broker's own leader side. Seeded."""

import random

import pytest

from odradek.broker.fetch.session import FetchSessionCache, PartitionKey, SessionPartition
from odradek.broker.replicas.replication.fetch_session import MAX_EPOCH, FetchSessionHandler, Key, SessionRequest
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse

SEEDS = 100
STEPS = 200
TOPICS = [bytes(15) + bytes([number]) for number in (1, 2, 3)]
Wanted = dict[Key, FetchRequest.FetchPartition]


class Leader:
    """A leader with one slot for sessions, which others may take."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.now_ms = 0
        self.cache = FetchSessionCache(1, 120_000, chance)
        self.fetched: Wanted = {}
        """The partitions of the last accepted request."""

    def answer(self, request: SessionRequest) -> FetchResponse:
        wanted: dict[PartitionKey, SessionPartition] = {}
        for topic in request.topics:
            for one in topic.partitions:
                wanted[topic.topic_id, "", one.partition] = SessionPartition(
                    topic.topic_id,
                    "",
                    one.partition,
                    one.fetch_offset,
                    one.partition_max_bytes,
                    one.current_leader_epoch,
                    one.last_fetched_epoch,
                )
        forgotten = [(topic.topic_id, "", index) for topic in request.forgotten for index in topic.partitions]
        context = self.cache.context(
            request.session_id, request.session_epoch, wanted, forgotten, uses_topic_ids=True, now_ms=self.now_ms
        )
        if context.error:
            return FetchResponse(error_code=context.error)
        self.fetched = {
            (one.topic_id, one.index): partition(one.index, one.fetch_offset, one.current_leader_epoch)
            for one in context.partitions
        }
        named = [one for one in context.partitions if not context.incremental or self.chance.random() < 0.3]
        return response(context.session_id, [(one.topic_id, one.index) for one in named])

    def evict(self) -> None:
        """Another client's session takes the slot. It can be replaced at once, or only after two minutes."""
        self.now_ms += 200_000
        other = (b"o" * 16, "", 0)
        opened = self.cache.context(0, 0, {other: SessionPartition(*other, 0, 1, 0, -1)}, [], True, self.now_ms)
        assert opened.session is not None
        self.now_ms += self.chance.choice((0, 200_000))


def partition(index: int, offset: int = 0, epoch: int = 0) -> FetchRequest.FetchPartition:
    return FetchRequest.FetchPartition(index, current_leader_epoch=epoch, fetch_offset=offset)


def response(session_id: int, keys: list[Key]) -> FetchResponse:
    topics = [
        FetchResponse.FetchableTopicResponse(topic_id=topic_id, partitions=[FetchResponse.PartitionData(index)])
        for topic_id, index in keys
    ]
    return FetchResponse(session_id=session_id, responses=topics)


@pytest.mark.parametrize("part", range(4))
def test_leader_always_fetches_what_the_follower_wants(part: int) -> None:
    seen: set[str] = set()
    for seed in range(part * SEEDS // 4, (part + 1) * SEEDS // 4):
        seen |= fetch(seed)
    assert seen == {"full", "incremental", "nothing", "refused", "sessionless", "lost"}


def fetch(seed: int) -> set[str]:
    """One run. ``fetch(seed)`` replays it. Returns the kinds of exchanges."""
    chance = random.Random(seed)
    leader, handler = Leader(chance), FetchSessionHandler()
    wanted: Wanted = {}
    seen: set[str] = set()

    def exchange() -> None:
        was_full = handler.is_full
        request = handler.build(wanted)
        if request is None:
            assert not wanted, f"seed {seed}"
            seen.add("nothing")
            return
        assert was_full == (request.session_epoch == 0), f"seed {seed}"
        if chance.random() < 0.05:
            if chance.random() < 0.5:
                leader.answer(request)
            handler.handle_error()
            assert handler.is_full
            seen.add("lost")
            return
        answer = leader.answer(request)
        problem = handler.handle_response(answer)
        assert (problem is not None) == (answer.error_code != 0), f"seed {seed}: {problem}"
        if problem is not None:
            assert handler.is_full
            assert not was_full, f"seed {seed}: a full request was refused"
            seen.add("refused")
            return
        assert leader.fetched == wanted, f"seed {seed}"
        seen.add("full" if was_full else "incremental")
        if answer.session_id == 0 and wanted:
            assert handler.is_full
            seen.add("sessionless")

    for _ in range(STEPS):
        key = chance.choice(TOPICS), chance.randrange(3)
        if chance.random() < 0.7:
            wanted[key] = partition(key[1], chance.randrange(5), chance.randrange(2))
        else:
            wanted.pop(key, None)
        if chance.random() < 0.02:
            wanted.clear()
        if chance.random() < 0.03:
            leader.evict()
        exchange()
    return seen


def opened(keys: list[Key]) -> FetchSessionHandler:
    """A handler whose first request, with these partitions, opened session 7."""
    handler = FetchSessionHandler()
    assert handler.build({key: partition(key[1]) for key in keys}) is not None
    assert handler.handle_response(response(7, keys)) is None
    return handler


def test_incremental_request_names_only_what_is_new_has_changed_or_left() -> None:
    first, second, third, fourth = [(TOPICS[0], index) for index in range(4)]
    handler = opened([first, second, third])
    wanted = {first: partition(0), second: partition(1, offset=5), fourth: partition(3)}
    request = handler.build(wanted)
    changed = FetchRequest.FetchTopic(topic_id=TOPICS[0], partitions=[partition(1, offset=5), partition(3)])
    gone = FetchRequest.ForgottenTopic(topic_id=TOPICS[0], partitions=[2])
    assert request == SessionRequest(7, 1, [changed], [gone])
    assert handler.handle_response(response(7, [])) is None
    assert handler.build(wanted) == SessionRequest(7, 2, [], [])


def test_session_without_partitions_is_closed_once() -> None:
    key = TOPICS[0], 0
    handler = opened([key])
    request = handler.build({})
    assert request is not None
    assert [topic.partitions for topic in request.forgotten] == [[0]]
    assert handler.handle_response(response(0, [])) is None
    assert handler.build({}) is None


@pytest.mark.parametrize(
    ("code", "closed"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 7),
    ],
)
def test_after_an_error_a_full_request_opens_a_new_session(code: ErrorCode, closed: int) -> None:
    key = TOPICS[0], 0
    handler = opened([key])
    handler.build({key: partition(0)})
    assert handler.handle_response(FetchResponse(error_code=code)) == f"it answers {code.name}"
    request = handler.build({key: partition(0)})
    assert request is not None
    assert (request.session_id, request.session_epoch) == (closed, 0)
    assert [topic.partitions for topic in request.topics] == [[partition(0)]]


def test_answer_with_other_partitions_than_were_fetched_is_refused() -> None:
    first, second = (TOPICS[0], 0), (TOPICS[0], 1)
    handler = FetchSessionHandler()
    handler.build({first: partition(0), second: partition(1)})
    assert handler.handle_response(response(7, [first])) == "1 partitions are missing from the answer to a full request"
    assert handler.is_full
    handler = opened([first])
    handler.build({first: partition(0)})
    assert handler.handle_response(response(7, [second])) == "it answers 1 partitions that are not in the session"
    assert handler.is_full


def test_epoch_after_the_highest_is_one() -> None:
    key = TOPICS[0], 0
    handler = opened([key])
    handler._epoch = MAX_EPOCH
    handler.build({key: partition(0)})
    assert handler.handle_response(response(7, [])) is None
    request = handler.build({key: partition(0)})
    assert request is not None
    assert request.session_epoch == 1
