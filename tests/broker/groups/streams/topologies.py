"""Random topologies and the topics that exist, generated from a seed. A part of the topologies has contradictions."""

import random

from odradek.broker.groups.streams.configured_topology import configure
from odradek.broker.groups.streams.topology import StreamsTopology
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as Request

Topics = dict[str, int]
WORDS = ("orders", "clicks", "users", "joined", "counted", "KSTREAM-AGGREGATE", "x.y", "Zeta", "a_b", "0", "1", "10")
ODD = 0.01


class RandomTopology:
    """A topology and topics. ``topology`` may be refused."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._names: set[str] = set()
        self._few_partitions = self._chance.random() < 0.6
        self.topics: Topics = {}
        self._sources = [self._name("in") for _ in range(self._chance.randint(1, 6))]
        for name in self._sources:
            if self._chance.random() > 0.03:
                self.topics[name] = self._count()
        count = self._chance.choice((1, 2, 3, 5, 8, 20))
        subtopologies = [self._subtopology(number) for number in range(count)]
        self._connect(subtopologies)
        for each in subtopologies:
            each.copartition_groups = self._groups(each)
        self.request = Request.Topology(-1 if self._chance.random() < ODD / 2 else 1, subtopologies)
        self._add_internal_topics()

    def _name(self, prefix: str) -> str:
        while (name := f"{prefix}-{self._chance.choice(WORDS)}-{self._chance.randrange(100)}") in self._names:
            pass
        self._names.add(name)
        return name

    def _count(self) -> int:
        return self._chance.choice((2, 4)) if self._few_partitions else self._chance.randint(1, 6)

    def _subtopology(self, number: int) -> Request.Subtopology:
        odd = self._chance.random() < ODD
        name = self._chance.choice((str(number), f"sub-{number}", self._chance.choice(WORDS) + str(number)))
        sources = self._chance.sample(self._sources, self._chance.randint(0, min(3, len(self._sources))))
        changelogs = [self._internal("changelog") for _ in range(self._chance.choice((0, 0, 1, 2)))]
        if changelogs and odd:
            changelogs.append(changelogs[0])
        return Request.Subtopology(
            subtopology_id="0" if odd else name, source_topics=sources, state_changelog_topics=changelogs
        )

    def _internal(self, suffix: str, partitions: int = 0) -> Request.TopicInfo:
        keys = self._chance.sample(("cleanup.policy", "segment.bytes", "retention.ms", "a", "b"), 3)
        if self._chance.random() < ODD / 3:
            keys.append(keys[0])
        configs = [Request.KeyValue(key, str(self._chance.randrange(9))) for key in keys]
        name = self._name(f"app-{suffix}")
        if self._chance.random() < ODD / 3:
            name += "!"
        return Request.TopicInfo(name, partitions, self._chance.choice((0, 0, 1, 3)), configs)

    def _connect(self, subtopologies: list[Request.Subtopology]) -> None:
        """Adds repartition topics, mostly from one subtopology to a later one."""
        chance = self._chance
        for to, each in enumerate(subtopologies):
            wanted = chance.choice((0, 0, 1, 2)) if each.source_topics else chance.choice((1, 2))
            if not to and not each.source_topics:
                each.source_topics = [self._sources[0]]
                wanted = 0
            for _ in range(wanted if chance.random() > ODD else 0):
                fixed = chance.random() < 0.2
                topic = self._internal("repartition", self._count() if fixed else 0)
                if chance.random() < ODD / 3:
                    topic.partitions = -1
                each.repartition_source_topics.append(topic)
                others = range(len(subtopologies)) if chance.random() < 0.05 else range(max(to, 1))
                for _ in range(chance.choice((1, 1, 1, 2))):
                    if chance.random() > ODD:
                        subtopologies[chance.choice(others)].repartition_sink_topics.append(topic.name)
        chance.shuffle(subtopologies)

    def _groups(self, each: Request.Subtopology) -> list[Request.CopartitionGroup]:
        found = []
        sources, repartitions = len(each.source_topics), len(each.repartition_source_topics)
        for _ in range(self._chance.choice((0, 0, 1, 1, 2))):
            odd = self._chance.random() < ODD
            group = Request.CopartitionGroup(
                source_topics=self._chance.sample(range(sources + odd), self._chance.randint(0, sources + odd)),
                repartition_source_topics=self._chance.sample(
                    range(repartitions), self._chance.randint(0, repartitions)
                ),
            )
            found.append(group)
        return found

    def _add_internal_topics(self) -> None:
        """Some or all of the internal topics exist, mostly with the right number of partitions."""
        try:
            configured = configure(0, StreamsTopology.from_request(self.request), self.topics.get)
        except KafkaError:
            return
        share = self._chance.choice((0, 0.5, 0.9, 1, 1, 1))
        wrong = self._chance.choice((0, 0, 0, 0.1))
        for name, topic in configured.internal_topics_to_create.items():
            if self._chance.random() < share:
                self.topics[name] = topic.partitions + (self._chance.random() < wrong)
