"""The ``sticky`` assignor of tasks compared with Kafka's own class, and its guarantees."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from odradek.broker.groups.streams.configured_topology import ConfiguredSubtopology
from odradek.broker.groups.streams.sticky_assignor import StreamsMemberSpec, TaskAssignorError, assign_in_steps
from odradek.broker.groups.streams.tasks import EMPTY_MEMBER_TASKS, MemberTasks, Tasks
from odradek.broker.groups.streams.topology import InternalTopic
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.java.hash import timeline_map_order_steps

from .oracle import Json, ask_kafka, plain

STATE = {"app-state-changelog": InternalTopic("app-state-changelog", 1)}
Subtopologies = dict[str, ConfiguredSubtopology]


def subtopology(tasks: int, is_stateful: bool) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(tasks, frozenset(("in",)), {}, frozenset(), STATE if is_stateful else {})


def held(target: Tasks) -> MemberTasks:
    """The tasks of a member that has reached its target."""
    active = {name: dict.fromkeys(partitions, 1) for name, partitions in target.active.items()}
    return MemberTasks(active, target.standby, target.warmup)


@dataclass
class Question:
    """One assignment to compute."""

    members: dict[str, StreamsMemberSpec]
    subtopologies: Subtopologies
    standby_replicas: int

    def answer(self) -> dict[str, Tasks]:
        return run_to_end(assign_in_steps(self.members, self.subtopologies, self.standby_replicas))

    def line(self) -> Json:
        """The question for ``StreamsGroupOracle.java``."""
        members = []
        for member_id, spec in self.members.items():
            offsets: Json = {}
            for (name, partition), offset in spec.offsets.items():
                offsets.setdefault(name, {})[str(partition)] = offset
            assigned = {"active": plain(spec.assigned.active), "standby": plain(spec.assigned.standby)}
            members.append({"id": member_id, "process": spec.process_id, "offsets": offsets, **assigned})
        topology = {name: [each.number_of_tasks, each.is_stateful] for name, each in self.subtopologies.items()}
        return {"ask": "assign", "members": members, "topology": topology, "standbys": self.standby_replicas}


def readable(assignment: dict[str, Tasks]) -> Json:
    return {
        member_id: {"active": plain(target.active), "standby": plain(target.standby)}
        for member_id, target in assignment.items()
    }


class History:
    """A group that changes. Each round starts from what members have after the last one."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._max_members = self._chance.choice((2, 5, 12, 40))
        self._processes = [self._id() for _ in range(self._chance.choice((1, 2, 3, 8, self._max_members)))]
        self._standby_replicas = self._chance.choice((0, 0, 1, 2))
        self._subtopologies: Subtopologies = {}
        self._new_subtopologies()
        self._members: dict[str, StreamsMemberSpec] = {}

    def questions(self, rounds: int) -> Iterator[Question]:
        for _ in range(rounds):
            for _ in range(self._chance.choice((1, 1, 2, 5))):
                self._change()
            if not self._members:
                self._join()
            question = Question(dict(self._members), dict(self._subtopologies), self._standby_replicas)
            yield question
            for member_id, target in question.answer().items():
                # Some members have not reached their target when the next one is computed.
                if self._chance.random() < 0.9:
                    self._members[member_id] = self._members[member_id]._replace(assigned=held(target))

    def _id(self) -> str:
        return f"{self._chance.getrandbits(64):016x}-{self._chance.getrandbits(64):016x}"

    def _new_subtopologies(self) -> None:
        names = sorted({str(self._chance.randrange(12)) for _ in range(self._chance.choice((1, 2, 3, 6)))})
        most = self._chance.choice((2, 5, 16))
        self._subtopologies = {
            name: subtopology(self._chance.randint(1, most), self._chance.random() < 0.6) for name in names
        }

    def _change(self) -> None:
        match self._chance.choice(("join", "join", "join", "leave", "restart", "offsets", "standbys", "topology")):
            case "join" if len(self._members) < self._max_members:
                self._join()
            case "leave" if self._members:
                del self._members[self._chance.choice(list(self._members))]
            case "restart" if self._members:
                # It has a new id, and only its state on disk.
                old = self._members.pop(self._chance.choice(list(self._members)))
                tasks = [(name, index) for name, indexes in old.assigned.active.items() for index in indexes]
                offsets = {task: self._chance.randrange(3) for task in tasks}
                self._members[self._id()] = StreamsMemberSpec(old.process_id, EMPTY_MEMBER_TASKS, offsets)
            case "offsets" if self._members:
                self._report_offsets(self._chance.choice(list(self._members)))
            case "standbys":
                self._standby_replicas = self._chance.choice((0, 1, 2, 3))
            case "topology" if self._chance.random() < 0.2:
                self._new_subtopologies()

    def _join(self) -> None:
        self._members[self._id()] = StreamsMemberSpec(self._chance.choice(self._processes), EMPTY_MEMBER_TASKS)

    def _report_offsets(self, member_id: str) -> None:
        tasks = [(name, index) for name, each in self._subtopologies.items() for index in range(each.number_of_tasks)]
        some = self._chance.sample(tasks, self._chance.randint(0, len(tasks)))
        offsets = {task: self._chance.randrange(4) for task in some}
        self._members[member_id] = self._members[member_id]._replace(offsets=offsets)


def compare(seeds: range, rounds: int) -> None:
    questions = [(seed, question) for seed in seeds for question in History(seed).questions(rounds)]
    answers = ask_kafka(question.line() for _, question in questions)
    for (seed, question), answer in zip(questions, answers, strict=True):
        assert readable(question.answer()) == answer, f"seed {seed}"


@pytest.mark.java
def test_equal_to_kafkas_own_class() -> None:
    compare(range(200), 10)


@pytest.mark.nightly
@pytest.mark.java
def test_equal_to_kafkas_own_class_over_many_histories() -> None:
    compare(range(1_000, 2_500), 12)


def large_group(members: int, tasks: int) -> Question:
    chance = random.Random(7)
    specs = {
        f"{chance.getrandbits(64):016x}": StreamsMemberSpec(f"process-{number // 2}", EMPTY_MEMBER_TASKS)
        for number in range(members)
    }
    return Question(specs, {"0": subtopology(tasks // 2, True), "1": subtopology(tasks // 2, False)}, 1)


@pytest.mark.java
def test_equal_to_kafkas_own_class_in_a_large_group() -> None:
    first = large_group(1_000, 3_000)
    members = {
        member_id: first.members[member_id]._replace(assigned=held(target))
        for member_id, target in list(first.answer().items())[50:]
    }
    later = Question(members, first.subtopologies, 2)
    answers = ask_kafka([first.line(), later.line()])
    assert [readable(first.answer()), readable(later.answer())] == answers


@pytest.mark.java
def test_members_are_in_the_order_of_kafkas_timeline_map() -> None:
    chance = random.Random(3)
    lists = [[f"{chance.getrandbits(64):x}" for _ in range(size)] for size in [*range(1, 40), 200, 1_000]]
    answers = ask_kafka({"ask": "order", "names": names} for names in lists)
    assert [run_to_end(timeline_map_order_steps(names)) for names in lists] == [answer["names"] for answer in answers]


@pytest.mark.parametrize("seed", range(60))
def test_each_task_has_one_member_and_standbys_are_elsewhere(seed: int) -> None:
    """Replay one seed: pytest -k "test_each_task_has_one_member_and_standbys_are_elsewhere[SEED]"."""
    for question in History(seed).questions(12):
        assignment = question.answer()
        assert assignment.keys() == question.members.keys()
        active: Counter[tuple[str, int]] = Counter()
        by_process: Counter[tuple[str, str, int]] = Counter()
        standby: Counter[tuple[str, int]] = Counter()
        for member_id, target in assignment.items():
            process_id = question.members[member_id].process_id
            for found, tasks in ((active, target.active), (standby, target.standby)):
                each = [(name, index) for name, indexes in tasks.items() for index in indexes]
                found.update(each)
                by_process.update((process_id, *task) for task in each)
        everything = {
            (name, index) for name, each in question.subtopologies.items() for index in range(each.number_of_tasks)
        }
        assert active == dict.fromkeys(everything, 1)
        assert set(by_process.values()) <= {1}
        processes = len({spec.process_id for spec in question.members.values()})
        replicas = min(question.standby_replicas, processes - 1)
        stateful = {task for task in everything if question.subtopologies[task[0]].is_stateful}
        assert standby == (dict.fromkeys(stateful, replicas) if replicas else {})


@pytest.mark.parametrize("seed", range(60))
def test_an_assignment_stays_if_nothing_changes(seed: int) -> None:
    """Replay one seed: pytest -k "test_an_assignment_stays_if_nothing_changes[SEED]"."""
    for question in History(seed).questions(4):
        first = question.answer()
        members = {name: spec._replace(assigned=held(first[name])) for name, spec in question.members.items()}
        again = Question(members, question.subtopologies, question.standby_replicas).answer()
        assert {name: target.active for name, target in again.items()} == {
            name: target.active for name, target in first.items()
        }


def test_a_member_with_the_state_of_a_task_gets_it() -> None:
    """The one that has the task as a standby, then the one that reports the higher offset."""
    one = {"0": subtopology(1, True)}
    members = {
        "low": StreamsMemberSpec("p1", EMPTY_MEMBER_TASKS, {("0", 0): 5}),
        "high": StreamsMemberSpec("p2", EMPTY_MEMBER_TASKS, {("0", 0): 6}),
        "none": StreamsMemberSpec("p3", EMPTY_MEMBER_TASKS),
    }
    assert Question(members, one, 0).answer()["high"].active == {"0": {0}}
    members["none"] = StreamsMemberSpec("p3", MemberTasks({}, {"0": frozenset((0,))}, {}))
    assert Question(members, one, 0).answer()["none"].active == {"0": {0}}


def test_tasks_without_members_are_an_error() -> None:
    with pytest.raises(TaskAssignorError, match=r"No process available to assign active task 0_0\."):
        Question({}, {"0": subtopology(1, True)}, 0).answer()
    assert Question({}, {}, 0).answer() == {}


def test_a_large_group_takes_many_steps() -> None:
    question = large_group(2_000, 4_000)
    steps = assign_in_steps(question.members, question.subtopologies, 1)
    assert sum(1 for _ in steps) > 40
