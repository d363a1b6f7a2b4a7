"""The steps of members towards their targets: compared with Kafka's own class, and the tasks of a group meanwhile."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import pytest

from odradek.broker.groups.memory import GroupMemory
from odradek.broker.groups.streams.group import StreamsGroup
from odradek.broker.groups.streams.member import StreamsGroupMember, StreamsMemberState
from odradek.broker.groups.streams.reconciliation import reconcile
from odradek.broker.groups.streams.tasks import EMPTY, EMPTY_MEMBER_TASKS, MemberTasks, Task, Tasks, by_subtopology
from odradek.protocol.errors import ErrorCode, KafkaError

from .oracle import Json, ask_kafka, plain_held, plain_member, plain_target

TASKS: list[Task] = [(name, index) for name in ("0", "1") for index in range(4)]
PROCESSES = ("p", "q", "r")


class World:
    """A group whose targets change, and the tasks that the clients have."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.group = StreamsGroup("g", GroupMemory())
        self.has_warmups = self.chance.random() < 0.3
        self.epoch = 1
        self.targets: dict[str, Tasks] = {}
        self.clients: dict[str, Tasks] = {}
        for number in range(self.chance.choice((1, 2, 3, 6))):
            self.join(f"m{number}")
        self.new_targets()

    def join(self, member_id: str) -> None:
        process_id = self.chance.choice(PROCESSES)
        self.group.put_member(StreamsGroupMember(member_id, process_id=process_id))
        self.clients[member_id] = EMPTY

    def leave(self, member_id: str) -> None:
        self.group.remove_member(member_id)
        del self.clients[member_id]

    def new_targets(self) -> None:
        """Each task has one member at most as an active one, and is in each process once."""
        self.epoch += 1
        roles: dict[str, tuple[list[Task], list[Task], list[Task]]] = {
            member_id: ([], [], []) for member_id in self.group.members
        }
        for task in TASKS:
            members = list(self.group.members.values())
            self.chance.shuffle(members)
            used: set[str] = set()
            for role in (0, 1, 2 if self.has_warmups else 1):
                free = [member for member in members if member.process_id not in used]
                if free and self.chance.random() < 0.8:
                    roles[free[0].member_id][role].append(task)
                    used.add(free[0].process_id)
        self.targets = {member_id: Tasks(*map(by_subtopology, found)) for member_id, found in roles.items()}

    def heartbeat(self, member_id: str) -> Json:
        """One step of a member, as a question to Kafka with our answer under ``ours``."""
        member = self.group.members[member_id]
        owned = self.clients[member_id] if self.chance.random() < 0.8 else None
        target = self.targets.get(member_id, EMPTY)
        question = self.question(member, target, owned)
        next_member = reconcile(self.group, member, self.epoch, target, owned)
        self.group.put_member(next_member)
        # The client stops tasks that it no longer has, and starts new ones, before its next heartbeat or a later one.
        if self.chance.random() < 0.7:
            self.clients[member_id] = without_epochs(next_member.assigned)
        return question | {"ours": readable(next_member)}

    def question(self, member: StreamsGroupMember, target: Tasks, owned: Tasks | None) -> Json:
        processes = self.group.processes
        return {
            "ask": "reconcile",
            "member": plain_member(member),
            "epoch": self.epoch,
            "target": plain_target(target),
            "owned": None if owned is None else plain_target(owned),
            "active": {f"{name}/{index}": process for (name, index), process in processes.active.items()},
            "standby": {f"{name}/{index}": sorted(found) for (name, index), found in processes.standby.items()},
            "warmup": {f"{name}/{index}": sorted(found) for (name, index), found in processes.warmup.items()},
        }

    def run(self, steps: int) -> Iterator[Json]:
        for number in range(steps):
            match self.chance.randrange(20):
                case 0 | 1:
                    self.new_targets()
                case 2 if len(self.group.members) < 8:
                    self.join(f"n{number}")
                    self.new_targets()
                case 3 if len(self.group.members) > 1:
                    self.leave(self.chance.choice(list(self.group.members)))
                    self.new_targets()
                case _:
                    yield self.heartbeat(self.chance.choice(list(self.group.members)))


def without_epochs(tasks: MemberTasks) -> Tasks:
    return Tasks({name: frozenset(epochs) for name, epochs in tasks.active.items()}, tasks.standby, tasks.warmup)


def readable(member: StreamsGroupMember) -> Json:
    """Our answer, in the form of ``StreamsGroupOracle.java``."""
    return {
        "epoch": member.member_epoch,
        "previous": member.previous_member_epoch,
        "state": int(member.state),
        "assigned": plain_held(member.assigned),
        "pending": plain_held(member.pending_revocation),
    }


def random_tasks(chance: random.Random) -> Tasks:
    return Tasks(*(by_subtopology(chance.sample(TASKS, chance.choice((0, 0, 1, 3)))) for _ in range(3)))


def random_held(chance: random.Random) -> MemberTasks:
    tasks = random_tasks(chance)
    active = {name: {index: chance.randrange(9) for index in indexes} for name, indexes in tasks.active.items()}
    return MemberTasks(active, tasks.standby, tasks.warmup)


def any_state(seed: int) -> Json:
    """A question about a member in any state, also ones that no history leads to."""
    world = World(seed)
    for member_id in list(world.group.members):
        member = world.group.members[member_id]
        world.group.put_member(member._replace(assigned=random_held(world.chance)))
    state = world.chance.choice(list(StreamsMemberState))
    member = StreamsGroupMember(
        "m", world.chance.randrange(5), 1, state, process_id="p", assigned=random_held(world.chance)
    )._replace(pending_revocation=random_held(world.chance))
    target = random_tasks(world.chance)
    owned = world.chance.choice((None, EMPTY, random_tasks(world.chance)))
    question = world.question(member, target, owned)
    try:
        ours = readable(reconcile(world.group, member, world.epoch, target, owned))
    except KafkaError as error:
        ours = {"error": int(error.error_code), "message": error.message}
    return question | {"ours": ours}


def compare(questions: list[Json]) -> None:
    for question, answer in zip(questions, ask_kafka(questions), strict=True):
        assert question["ours"] == answer, question


@pytest.mark.java
def test_equal_to_kafkas_own_class() -> None:
    compare([question for seed in range(40) for question in World(seed).run(60)])


@pytest.mark.java
def test_equal_to_kafkas_own_class_in_any_state() -> None:
    compare(list(map(any_state, range(2_000))))


@pytest.mark.nightly
@pytest.mark.java
def test_equal_to_kafkas_own_class_over_many_histories() -> None:
    compare([question for seed in range(1_000, 1_400) for question in World(seed).run(80)])
    compare(list(map(any_state, range(10_000, 30_000))))


def check_tasks(world: World) -> None:
    """No two members have a task as an active one, and no two members of a process have one in any role."""
    active: Counter[Task] = Counter()
    in_process: Counter[tuple[str, Task]] = Counter()
    for member in world.group.members.values():
        everything: set[Task] = set()
        for held in (member.assigned, member.pending_revocation):
            active.update(each_task(held.active))
            everything.update(*map(each_task, (held.active, held.standby, held.warmup)))
        in_process.update((member.process_id, task) for task in everything)
    assert set(active.values()) <= {1}
    assert set(in_process.values()) <= {1}


def each_task(tasks: Mapping[str, Iterable[int]]) -> Iterator[Task]:
    return ((name, index) for name, indexes in tasks.items() for index in indexes)


@pytest.mark.parametrize("seed", range(150))
def test_members_reach_their_targets(seed: int) -> None:
    """Replay one seed: pytest -k "test_members_reach_their_targets[SEED]"."""
    world = World(seed)
    for _ in world.run(60):
        check_tasks(world)
    for _ in range(200):
        if all(member.is_reconciled_to(world.epoch) for member in world.group.members.values()):
            break
        world.heartbeat(world.chance.choice(list(world.group.members)))
        check_tasks(world)
    for member_id in world.group.members:
        while not world.group.members[member_id].is_reconciled_to(world.epoch):
            world.heartbeat(member_id)
        assert world.targets[member_id] == without_epochs(world.group.members[member_id].assigned)


def one_member(
    assigned: MemberTasks, state: StreamsMemberState = StreamsMemberState.STABLE, epoch: int = 1
) -> StreamsGroup:
    group = StreamsGroup("g", GroupMemory())
    group.put_member(StreamsGroupMember("m", epoch, epoch, state, process_id="p", assigned=assigned))
    return group


FIRST = {"0": frozenset((0,))}


def test_a_standby_task_becomes_active_at_once() -> None:
    group = one_member(MemberTasks({}, FIRST, {}))
    member = reconcile(group, group.members["m"], 2, Tasks(FIRST, {}, {}), Tasks({}, FIRST, {}))
    assert (member.state, member.member_epoch) == (StreamsMemberState.STABLE, 2)
    assert member.assigned == MemberTasks({"0": {0: 2}}, {}, {})


def test_a_standby_task_stays_while_another_member_has_it_as_an_active_one() -> None:
    group = one_member(MemberTasks({}, FIRST, {}))
    group.put_member(StreamsGroupMember("n", process_id="q", assigned=MemberTasks({"0": {0: 1}}, {}, {})))
    member = reconcile(group, group.members["m"], 2, Tasks(FIRST, {}, {}), None)
    assert member.state is StreamsMemberState.UNRELEASED_TASKS
    assert member.assigned == MemberTasks({}, FIRST, {})
    group.remove_member("n")
    assert reconcile(group, member, 2, Tasks(FIRST, {}, {}), None).assigned.active == {"0": {0: 2}}


def test_a_member_gives_up_tasks_before_it_enters_the_epoch() -> None:
    group = one_member(MemberTasks({"0": {0: 1, 1: 1}}, {}, {}))
    target = Tasks(FIRST, {}, {})
    both = Tasks({"0": frozenset((0, 1))}, {}, {})
    member = reconcile(group, group.members["m"], 2, target, both)
    assert (member.state, member.member_epoch) == (StreamsMemberState.UNREVOKED_TASKS, 1)
    assert member.pending_revocation.active == {"0": {1: 1}}
    assert reconcile(group, member, 2, target, both) is member
    assert reconcile(group, member, 2, target, None) is member
    member = reconcile(group, member, 2, target, target)
    assert (member.state, member.member_epoch) == (StreamsMemberState.STABLE, 2)
    assert member.assigned.active == {"0": {0: 1}}
    assert member.pending_revocation == EMPTY_MEMBER_TASKS


def test_a_member_in_an_unknown_state_starts_again_without_tasks() -> None:
    group = one_member(EMPTY_MEMBER_TASKS, StreamsMemberState.of(5))
    member = group.members["m"]
    for owned in (None, Tasks(FIRST, {}, {})):
        with pytest.raises(KafkaError) as fenced:
            reconcile(group, member, 2, EMPTY, owned)
        assert fenced.value.error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert reconcile(group, member, 2, EMPTY, EMPTY).state is StreamsMemberState.STABLE
