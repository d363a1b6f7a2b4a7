"""A model of one partition with three replicas: leaders, followers, controllers, network and disks. Seeded.

Each leader runs the real core (:class:`InSyncReplicas`). The controllers are a model of AlterPartition, fencing and
elections. Answers, metadata and fetches are delayed, lost and reordered. A log is a list of (leader epoch, value). It
survives a crash of its broker; the high watermark then returns to its checkpoint.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from odradek.broker.metadata.image.image import BrokerRegistration, PartitionImage
from odradek.broker.replicas.isr import Committed, InSyncReplicas, Proposal
from odradek.protocol.errors import ErrorCode, KafkaError

BROKERS = (1, 2, 3)
LAG_MS = 900
SESSION_MS = 2_500
MIN_ISR = 2
DIRECTORIES = (bytes(16),) * 3
Entry = tuple[int, int]


def registration(broker_id: int, epoch: int, *, fenced: bool) -> BrokerRegistration:
    return BrokerRegistration(broker_id, epoch, bytes(16), {}, {}, None, fenced, False, ())


@dataclass
class Controller:
    """AlterPartition, registration, fencing and elections of one partition, as ReplicationControlManager does them."""

    epochs: dict[int, int] = field(default_factory=lambda: dict.fromkeys(BROKERS, 1))
    fenced: set[int] = field(default_factory=set)
    isr: tuple[int, ...] = BROKERS
    leader: int = 1
    leader_epoch: int = 0
    partition_epoch: int = 0
    offset: int = 1

    def image(self) -> PartitionImage:
        return PartitionImage(BROKERS, DIRECTORIES, self.isr, self.leader, self.leader_epoch, self.partition_epoch)

    def registrations(self) -> dict[int, BrokerRegistration]:
        return {one: registration(one, self.epochs[one], fenced=one in self.fenced) for one in BROKERS}

    def alter(self, sender: int, epoch: int, proposal: Proposal) -> Committed | ErrorCode:
        if epoch != self.epochs[sender]:
            return ErrorCode.STALE_BROKER_EPOCH
        if proposal.leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if sender != self.leader:
            return ErrorCode.INVALID_REQUEST
        if proposal.partition_epoch < self.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        for member, known in proposal.isr:
            if member in self.fenced or known != self.epochs[member]:
                return ErrorCode.INELIGIBLE_REPLICA
        self.isr = tuple(sorted(proposal.members))
        self.partition_epoch += 1
        return Committed(self.leader_epoch, self.partition_epoch, self.isr)

    def fence(self, broker_id: int) -> None:
        self.fenced.add(broker_id)
        self._leave(broker_id)

    def register(self, broker_id: int) -> None:
        """Registers a restarted broker, after ending its old leadership and its place in the ISR."""
        self.fence(broker_id)
        self.offset += 1
        self.epochs[broker_id] = self.offset

    def unfence(self, broker_id: int) -> None:
        self.fenced.discard(broker_id)
        if self.leader < 0 and broker_id in self.isr:
            self._elect(broker_id)

    def _leave(self, broker_id: int) -> None:
        if broker_id not in self.isr:
            return
        left = tuple(one for one in self.isr if one != broker_id)
        if left:
            self.isr = left  # the last member of the ISR stays, as in Kafka without unclean election
        self.partition_epoch += 1
        if self.leader == broker_id:
            alive = [one for one in self.isr if one not in self.fenced]
            self._elect(alive[0] if alive else -1)

    def _elect(self, leader: int) -> None:
        self.leader = leader
        self.leader_epoch += 1
        self.partition_epoch += 1


class Broker:
    """One broker: its log, its metadata, and the core while it leads."""

    def __init__(self, broker_id: int, world: "World") -> None:
        self.broker_id = broker_id
        self.world = world
        self.log: list[Entry] = []
        self.checkpoint = 0
        self.is_up = True
        self.start(1)

    def start(self, epoch: int) -> None:
        self.is_up = True
        self.epoch = epoch
        self.high_watermark = min(self.checkpoint, len(self.log))
        self.image: PartitionImage | None = None
        self.registrations: dict[int, BrokerRegistration] = {}
        self.core: InSyncReplicas | None = None
        self.waiting: list[tuple[int, Entry]] = []
        self.asked: object = None
        """The fetch in flight. Answers to earlier fetches are dropped with their connection."""

    def registration(self, broker_id: int) -> BrokerRegistration | None:
        return self.registrations.get(broker_id)

    def apply(self, image: PartitionImage, registrations: dict[int, BrokerRegistration]) -> None:
        """Applies metadata, in order."""
        self.registrations = registrations
        own = registrations[self.broker_id]
        if own.epoch != self.epoch:
            return
        self.image = image
        if image.leader != self.broker_id or own.fenced:
            self.core = None
            self.waiting = []
            return
        if self.core is None:
            self.core = InSyncReplicas(self.broker_id, LAG_MS, self.registration)
            self.core.min_isr = MIN_ISR
        self.core.lead(image, len(self.log), self.high_watermark, self.world.now_ms)
        self.carry_out()

    def carry_out(self) -> None:
        core = self.core
        assert core is not None
        assert core.high_watermark >= self.high_watermark, "the high watermark of a leader fell"
        assert core.high_watermark <= len(self.log)
        self.high_watermark = core.high_watermark
        done = [one for one in self.waiting if one[0] <= core.high_watermark]
        if done:
            self.waiting = [one for one in self.waiting if one[0] > core.high_watermark]
            if not core.is_under_min_isr:
                self.world.acknowledged.update(dict.fromkeys(entry for _, entry in done))
        if core.unsent is not None:
            proposal, core.unsent = core.unsent, None
            epoch = self.epoch
            self.world.send(lambda: self.world.alter(self, epoch, proposal), is_retried=True)

    def produce(self, value: int) -> None:
        """Appends a value with acks=all."""
        core = self.core
        if core is None or core.is_under_min_isr:
            return
        entry = (core.leader_epoch, value)
        self.log.append(entry)
        self.waiting.append((len(self.log), entry))
        core.appended(len(self.log), self.world.now_ms)
        self.carry_out()

    def answered(self, epoch: int, proposal: Proposal, outcome: Committed | ErrorCode) -> None:
        if self.is_up and self.epoch == epoch and self.core is not None:
            self.core.answered(proposal, outcome, len(self.log), self.world.now_ms)
            self.carry_out()

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """``endOffsetFor``: the highest epoch up to this one, and its end offset."""
        ends = [(one[0], place + 1) for place, one in enumerate(self.log) if one[0] <= epoch]
        return ends[-1] if ends else (epoch, 0)

    def fetch(self) -> None:
        """Sends a fetch to the leader in its metadata."""
        image = self.image
        if image is None or image.leader in (-1, self.broker_id):
            return
        leader = self.world.brokers[image.leader]
        offset, last = len(self.log), self.log[-1][0] if self.log else -1
        epoch, leader_epoch = self.epoch, image.leader_epoch
        asked = self.asked = object()
        self.world.send(lambda: leader.serve(self, asked, epoch, leader_epoch, offset, last))

    def serve(self, follower: "Broker", asked: object, epoch: int, leader_epoch: int, offset: int, last: int) -> None:
        """Serves a follower's fetch."""
        core = self.core
        if not self.is_up or core is None or core.leader_epoch != leader_epoch:
            return
        try:
            core.check_follower(follower.broker_id, epoch, leader_epoch)
        except KafkaError:
            return
        if last >= 0:
            own_epoch, end = self.end_of_epoch(last)
            if own_epoch < last or end < offset:
                self.world.send(lambda: follower.truncate(asked, leader_epoch, own_epoch, end))
                return
        if offset > len(self.log):
            return
        core.fetched(follower.broker_id, epoch, offset, 0, len(self.log), self.world.now_ms)
        self.carry_out()
        records = self.log[offset : offset + self.world.chance.randint(1, 5)]
        high_watermark = self.high_watermark
        self.world.send(lambda: follower.append(asked, leader_epoch, records, high_watermark))

    def _is_answer_to(self, asked: object, leader_epoch: int) -> bool:
        """Whether this is the answer to the fetch in flight, in the epoch in which it was sent."""
        image = self.image
        is_answer = self.is_up and self.asked is asked and image is not None and image.leader_epoch == leader_epoch
        if is_answer:
            self.asked = None
        return is_answer

    def truncate(self, asked: object, leader_epoch: int, own_epoch: int, end: int) -> None:
        if self._is_answer_to(asked, leader_epoch):
            mine, my_end = self.end_of_epoch(own_epoch)
            del self.log[min(my_end, end) if mine == own_epoch else my_end :]

    def append(self, asked: object, leader_epoch: int, records: list[Entry], high_watermark: int) -> None:
        if self._is_answer_to(asked, leader_epoch):
            self.log += records
            self.high_watermark = min(high_watermark, len(self.log))


class World:
    """Virtual time, and the messages in flight."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now_ms = 1_000
        self.controller = Controller()
        self.acknowledged: dict[Entry, None] = {}
        self.flying: list[tuple[int, Callable[[], None]]] = []
        self.metadata: dict[int, list[tuple[PartitionImage, dict[int, BrokerRegistration]]]] = {
            one: [] for one in BROKERS
        }
        self.brokers = {one: Broker(one, self) for one in BROKERS}
        self.heard = dict.fromkeys(BROKERS, self.now_ms)
        self.loses = True
        self.publish()

    def send(self, deliver: Callable[[], None], *, is_retried: bool = False) -> None:
        """Sends a message with a delay. It may be lost unless the sender repeats it."""
        if self.loses and not is_retried and self.chance.random() < 0.1:
            return
        self.flying.append((self.now_ms + self.chance.choice((1, 5, 20, 150)), deliver))

    def publish(self) -> None:
        for waiting in self.metadata.values():
            waiting.append((self.controller.image(), self.controller.registrations()))

    def alter(self, sender: Broker, epoch: int, proposal: Proposal) -> None:
        outcome = self.controller.alter(sender.broker_id, epoch, proposal)
        if isinstance(outcome, Committed):
            self.publish()
        self.flying.append((self.now_ms + 1, lambda: sender.answered(epoch, proposal, outcome)))

    def step(self, value: int) -> None:
        """Runs one event."""
        self.now_ms += self.chance.choice((1, 3, 10, 60))
        due = [one for one in self.flying if one[0] <= self.now_ms]
        self.flying = [one for one in self.flying if one[0] > self.now_ms]
        for _, deliver in due:
            deliver()
        broker = self.brokers[self.chance.choice(BROKERS)]
        if not broker.is_up:
            if self.chance.random() < 0.2:
                self.restart(broker)
            return
        what = self.chance.choices(
            ("produce", "fetch", "metadata", "time", "heartbeat", "checkpoint", "crash"), (15, 50, 40, 8, 20, 5, 2.5)
        )[0]
        if what == "produce":
            for one in self.brokers.values():
                one.produce(value)
        elif what == "fetch":
            broker.fetch()
        elif what == "metadata" and self.metadata[broker.broker_id]:
            broker.apply(*self.metadata[broker.broker_id].pop(0))
        elif what == "time" and broker.core is not None:
            broker.core.time_passed(len(broker.log), self.now_ms)
            broker.carry_out()
        elif what == "heartbeat":
            self.heartbeat(broker)
        elif what == "checkpoint":
            broker.checkpoint = broker.high_watermark
        elif what == "crash" and self.loses:
            broker.is_up = False
            broker.core = None
        self.expire()

    def heartbeat(self, broker: Broker) -> None:
        self.heard[broker.broker_id] = self.now_ms
        is_caught_up = not self.metadata[broker.broker_id]
        if broker.broker_id in self.controller.fenced and is_caught_up:
            self.controller.unfence(broker.broker_id)
            self.publish()

    def expire(self) -> None:
        for broker_id, heard_ms in self.heard.items():
            if broker_id not in self.controller.fenced and self.now_ms - heard_ms > SESSION_MS:
                self.controller.fence(broker_id)
                self.publish()

    def restart(self, broker: Broker) -> None:
        self.controller.register(broker.broker_id)
        self.heard[broker.broker_id] = self.now_ms
        broker.start(self.controller.epochs[broker.broker_id])
        self.publish()

    def check(self) -> None:
        """Checks the invariants that hold after every step."""
        for leader in self.brokers.values():
            if leader.core is None or leader.core.leader_epoch != self.controller.leader_epoch:
                continue
            missing = self.acknowledged.keys() - set(leader.log)
            assert not missing, f"the leader of epoch {self.controller.leader_epoch} lacks {sorted(missing)[:3]}"
            for member in leader.core.maximal_isr - {leader.broker_id}:
                assert leader.high_watermark <= len(self.brokers[member].log), "beyond a member of the ISR"
        for one in self.brokers.values():
            for two in self.brokers.values():
                common = min(one.high_watermark, two.high_watermark)
                assert one.log[:common] == two.log[:common], "logs differ below both high watermarks"
