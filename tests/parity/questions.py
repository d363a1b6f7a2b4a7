"""Random requests for two brokers. Each is drawn once, then made for each broker with that broker's ids."""

from collections.abc import Callable

from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from parity.config_questions import ConfigQuestions
from parity.group_questions import GroupQuestions
from parity.question_draws import Draws, Question
from parity.record_questions import RecordQuestions
from parity.topic_questions import TopicQuestions


class Questions:
    """Draws requests. The same seed draws the same requests."""

    def __init__(self, seed: int, versions: Callable[[type[Message]], tuple[int, int]]) -> None:
        """``versions``: the lowest and highest version of a request that both brokers serve."""
        draws = Draws(seed, versions)
        records, topics = RecordQuestions(draws), TopicQuestions(draws)
        configs, groups = ConfigQuestions(draws), GroupQuestions(draws)
        self._rng = draws.rng
        self._kinds: list[tuple[int, Callable[[], Question]]] = [
            (10, records.produce),
            (10, records.fetch),
            (8, records.list_offsets),
            (6, topics.metadata),
            (4, topics.create_topics),
            (1, topics.delete_topics),
            (2, topics.create_partitions),
            (2, records.delete_records),
            (3, records.leader_epochs),
            (3, records.init_producer_id),
            (5, configs.describe_configs),
            (3, configs.incremental_alter_configs),
            (2, configs.alter_configs),
            (2, configs.list_config_resources),
            (2, topics.elect_leaders),
            (2, topics.reassignments),
            (2, topics.describe_cluster),
            (3, topics.describe_topic_partitions),
            (1, topics.api_versions),
            (3, groups.find_coordinator),
            (8, groups.join_group),
            (6, groups.sync_group),
            (6, groups.heartbeat),
            (3, groups.leave_group),
            (8, groups.offset_commit),
            (8, groups.offset_fetch),
            (3, groups.offset_delete),
            (3, groups.describe_groups),
            (2, groups.list_groups),
            (1, groups.delete_groups),
        ]

    def opening(self) -> list[Question]:
        """The requests that set up the initial state: some topics."""
        made = [("apples", 3), ("pears", 2), ("plums", 1)]
        topics = [CreateTopicsRequest.CreatableTopic(name, count, 1) for name, count in made]
        return [(7, lambda names: CreateTopicsRequest(topics, 5000))]

    def next(self) -> Question:
        """The next request."""
        weights = [weight for weight, _ in self._kinds]
        return self._rng.choices([draw for _, draw in self._kinds], weights)[0]()
