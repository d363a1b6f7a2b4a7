"""A seeded simulation of consume-transform-produce: workers read, write and commit both in one transaction.

Workers crash, restart under the same transactional id while the old one still runs (a zombie), miss answers and repeat
requests. Markers fail, transactions time out, and power failures remove unsynced data. A seed determines the run. It
checks that:

- the output of committed transactions is the input, each record once, in order;
- at the end the group's committed offset matches the committed output;
- every decision is carried out: at the end no transaction is prepared or hanging, and every log can be read to its end.
"""

import random
from collections.abc import Callable
from typing import Any

from odradek.broker.transactions.membership import Support, TransactionMembership
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages import groups, transactions
from odradek.protocol.records.builder import BatchBuilder
from support.transactions.harness import TransactionHarness

PARTITIONS = 3
TIMEOUT_MS = 30_000
RETRIABLE = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Worker:
    """One producer instance of a transactional id, with one request in flight at a time."""

    def __init__(self, world: "World", name: str, version: int) -> None:
        self.world = world
        self.name = name
        self.version = version
        self.is_dead = False
        self.is_waiting = False
        self.producer_id = self.producer_epoch = -1
        self.sequences: dict[int, int] = {}
        self.taken: list[int] = []
        self.added: set[int] = set()
        self.to_write: list[tuple[int, int]] = []
        self.step: Callable[[], None] = self.init

    def act(self) -> None:
        """Runs its next step, unless it waits for an answer."""
        if not self.is_dead and not self.is_waiting:
            self.step()

    def ask(self, api: ApiKey, version: int, request: Any, then: Callable[[Any], None]) -> None:
        self.is_waiting = True
        loses_answer = self.world.chance(0.02)

        def answered(answer: Any) -> None:
            self.is_waiting = False
            if loses_answer:
                return  # repeats the step, as a client does after a timeout
            then(answer)

        self.world.harness.send(api, version, request, answered)

    def is_refused(self, error_code: int) -> bool:
        """Whether the step failed. A fatal error ends this instance; after others the step is repeated."""
        error = ErrorCode(error_code)
        if error is not ErrorCode.NONE and error not in RETRIABLE:
            self.die()
        return error is not ErrorCode.NONE

    def die(self) -> None:
        self.is_dead = True

    # --- steps

    def init(self) -> None:
        def done(answer: Any) -> None:
            if not self.is_refused(answer.error_code):
                self.renew(answer.producer_id, answer.producer_epoch)
                self.step = self.begin

        request = transactions.InitProducerIdRequest(self.name, TIMEOUT_MS)
        self.ask(ApiKey.INIT_PRODUCER_ID, 5, request, done)

    def renew(self, producer_id: int, producer_epoch: int) -> None:
        if (producer_id, producer_epoch) != (self.producer_id, self.producer_epoch):
            self.producer_id, self.producer_epoch = producer_id, producer_epoch
            self.sequences.clear()

    def begin(self) -> None:
        """Fetches the committed offset of the input."""

        def done(answer: Any) -> None:
            [group] = answer.groups
            if self.is_refused(group.error_code) or self.is_refused(group.topics[0].partitions[0].error_code):
                return
            partition = group.topics[0].partitions[0]
            start = max(0, partition.committed_offset)
            self.taken = list(range(start, start + self.world.rng.randint(1, 4)))
            self.to_write = [(one % PARTITIONS, one) for one in self.taken]
            self.added = set()
            self.step = self.write

        topic = groups.OffsetFetchRequest.OffsetFetchRequestTopics("t", partition_indexes=[0])
        group = groups.OffsetFetchRequest.OffsetFetchRequestGroup(self.name, topics=[topic])
        request = groups.OffsetFetchRequest(groups=[group], require_stable=True)
        self.ask(ApiKey.OFFSET_FETCH, 9, request, done)

    def write(self) -> None:
        if not self.to_write:
            self.step = self.add_offsets if self.version == 1 else self.commit_offsets
            return
        index, value = self.to_write[0]
        if self.version == 1 and index not in self.added:
            self.add_partition(index)
            return
        producer = (self.producer_id, self.producer_epoch)
        log = self.world.harness.partitions["t", index]
        if log.producer_state.has_open_transaction(*producer):
            self.append(index, value)
            return
        support = Support.ADDS_IMPLICITLY if self.version == 2 else Support.ABORTABLE_ERROR
        membership = TransactionMembership(self.world.harness.coordinator, self.name, producer, support)
        life = self.world.life
        self.is_waiting = True

        def done(errors: Any) -> None:
            if life != self.world.life:
                return
            self.is_waiting = False
            if not self.is_refused(errors.get(("t", index), ErrorCode.NONE)):
                self.append(index, value)

        membership.ensure(frozenset({("t", index)}), self.world.now_ms, done)

    def append(self, index: int, value: int) -> None:
        sequence = self.sequences.get(index, 0)
        builder = BatchBuilder(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        builder.append(self.world.now_ms, None, f"{self.name} {value}".encode())
        log = self.world.harness.partitions["t", index]
        try:
            log.append(builder.build(), self.world.now_ms, from_client=True)
        except KafkaError as error:
            self.is_refused(error.error_code)
            return
        self.is_waiting = True
        loses_answer = self.world.chance(0.05)

        def acknowledged(_: ErrorCode) -> None:
            self.is_waiting = False
            if not loses_answer:  # otherwise it sends the same batch again
                self.sequences[index] = sequence + 1
                self.to_write.pop(0)

        log.when_durable(acknowledged)

    def add_partition(self, index: int) -> None:
        def done(answer: Any) -> None:
            result = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
            if not self.is_refused(result.partition_error_code):
                self.added.add(index)

        topic = transactions.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("t", [index])
        request = transactions.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[topic],
        )
        self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request, done)

    def add_offsets(self) -> None:
        def done(answer: Any) -> None:
            if not self.is_refused(answer.error_code):
                self.step = self.commit_offsets

        request = transactions.AddOffsetsToTxnRequest(self.name, self.producer_id, self.producer_epoch, self.name)
        self.ask(ApiKey.ADD_OFFSETS_TO_TXN, 4, request, done)

    def commit_offsets(self) -> None:
        def done(answer: Any) -> None:
            if not self.is_refused(answer.topics[0].partitions[0].error_code):
                self.step = self.end

        partition = transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, self.taken[-1] + 1)
        topic = transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic("t", partitions=[partition])
        request = transactions.TxnOffsetCommitRequest(
            self.name, self.name, self.producer_id, self.producer_epoch, topics=[topic]
        )
        self.ask(ApiKey.TXN_OFFSET_COMMIT, 5 if self.version == 2 else 3, request, done)

    def end(self) -> None:
        commit = not self.world.chance(0.2)

        def end() -> None:
            def done(answer: Any) -> None:
                if self.is_refused(answer.error_code):
                    return
                self.world.events["commits" if commit else "aborts"] += 1
                if self.version == 2:
                    self.renew(answer.producer_id, answer.producer_epoch)
                self.step = self.begin

            request = transactions.EndTxnRequest(self.name, self.producer_id, self.producer_epoch, commit)
            self.ask(ApiKey.END_TXN, 5 if self.version == 2 else 4, request, done)

        self.step = end
        end()


class World:
    """Workers and a broker. :meth:`run` runs steps; :meth:`settle` ends all transactions and checks the result."""

    def __init__(self, seed: int, names: int = 3) -> None:
        self.rng = random.Random(seed)
        self.transaction_version = seed % 2 * 2
        self.harness = TransactionHarness(PARTITIONS, self.transaction_version, is_synced=False)
        self.is_calm = False
        self.life = 0
        self.events = {"commits": 0, "aborts": 0, "crashes": 0, "zombies": 0, "power failures": 0}
        self.names = [f"worker-{index}" for index in range(names)]
        self.checked: list[tuple[int, dict[bytes, int]]] = [(0, {}) for _ in range(PARTITIONS)]
        """Partition -> the number of checked batches of the output, and the next input of each worker."""
        self.workers: list[Worker] = [self.new_worker(name) for name in self.names]

    @property
    def now_ms(self) -> int:
        return self.harness.timers.now_ms

    def chance(self, probability: float) -> bool:
        return not self.is_calm and self.rng.random() < probability

    def new_worker(self, name: str) -> Worker:
        speaks_version_2 = self.transaction_version == 2 and name != self.names[0]
        return Worker(self, name, 2 if speaks_version_2 else 1)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.take_step()

    def take_step(self) -> None:
        draw = self.rng.random()
        if draw < 0.55:
            self.rng.choice(self.workers).act()
        elif draw < 0.95:
            self.rng.choice(list(self.harness.partitions.values())).sync()
        elif draw < 0.985:
            self.harness.timers.advance(self.rng.choice((1, 10, 100, 100, 1_000, 12_000)))
        elif draw < 0.989:
            self.replace(self.rng.randrange(len(self.workers)))
        elif draw < 0.995:
            self.rng.choice(list(self.harness.partitions.values())).fail_next = ErrorCode.KAFKA_STORAGE_ERROR
        elif draw < 0.997:
            self.lose_power()
        else:
            self.check_output()
        self.workers = [
            worker
            if not worker.is_dead or any(one.name == worker.name and not one.is_dead for one in self.workers)
            else self.new_worker(worker.name)
            for worker in self.workers
        ]
        if len(self.workers) > 2 * len(self.names):
            living = {worker.name: worker for worker in self.workers if not worker.is_dead}
            self.workers = list(living.values())

    def replace(self, slot: int) -> None:
        """Starts a worker again. The old one is dead, or only believed to be."""
        old = self.workers[slot]
        new = self.new_worker(old.name)
        if self.rng.random() < 0.5:
            old.die()
            self.workers[slot] = new
            self.events["crashes"] += 1
        else:
            self.workers.append(new)
            self.events["zombies"] += 1

    def lose_power(self) -> None:
        self.life += 1
        self.harness.lose_power(self.rng)
        self.events["power failures"] += 1
        for worker in self.workers:
            worker.is_waiting = False

    # --- checks

    def output(self, name: str) -> list[list[int]]:
        """The committed output of a worker's input, by partition."""
        outputs = []
        for index in range(PARTITIONS):
            values = map(bytes.split, self.harness.partitions["t", index].committed_values())
            outputs.append([int(number) for worker, number in values if worker == name.encode()])
        return outputs

    def check_output(self) -> None:
        """Checks that a reader of committed data has each record of the input so far once and in order.

        Records that were checked before and cannot change are skipped.
        """
        for index in range(PARTITIONS):
            start, expected = self.checked[index]
            settled, later, end = self.harness.partitions["t", index].committed_since(start)
            _follow(settled, index, expected)
            _follow(later, index, dict(expected))
            self.checked[index] = (end, expected)

    def settle(self) -> None:
        """Ends the failures and open transactions, and compares input and output."""
        self.is_calm = True
        for log in self.harness.partitions.values():
            log.fail_next = None
        for _ in range(20):
            for log in self.harness.partitions.values():
                log.is_synced = True
                log.sync()
            self.harness.timers.advance(20_000)
        for transaction in self.harness.core.transactions.values():
            assert transaction.state.is_settled, transaction
        for partition, log in self.harness.partitions.items():
            assert log.last_stable_offset == log.next_offset, partition
        offsets = self.harness.broker.group_coordinator.shard_of("").core.offsets
        for name in self.names:
            committed = offsets.get(name, "t", 0)
            reached = 0 if committed is None else committed.offset
            output = sorted(value for values in self.output(name) for value in values)
            assert output == list(range(reached)), (name, reached, output[-10:])
            assert not offsets.has_open_transactions(name)


def _follow(values: list[bytes], index: int, expected: dict[bytes, int]) -> None:
    """Checks more records of a partition's output: those of each worker equal its input, in order."""
    for value in values:
        worker, number = value.split()
        assert int(number) == expected.get(worker, index), (worker, index, number, expected)
        expected[worker] = int(number) + PARTITIONS
