"""A seeded simulation: consumers of a group coordinator join, commit, crash and restart; so does the broker.

A seed determines the run, to the byte. After every step the coordinator's state and these guarantees are checked:

- a partition has at most one owner in a generation;
- a committed offset is the last acknowledged one (after a crash, an unacknowledged commit may be kept or lost);
- a restart restores the durable state;
- a Stable group equals its last stored state;
- at the end, without further failures, every member is in a generation and every partition has an owner.
"""

from collections import defaultdict
from typing import Any

from odradek.broker.groups.classic.group import GroupState
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import groups as messages
from support.groups.harness import Harness

from .classic_checks import check_books
from .classic_member import Member
from .simulation import Simulation

GROUPS = ("g", "h", "k")
PARTITIONS = 6
SESSION_MS = 1_000
REBALANCE_MS = 3_000
STARTING_OVER = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
OffsetKey = tuple[str, int]


class GroupSimulator(Simulation):
    """Classic groups."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        config = GroupCoordinatorConfig(
            offsets_topic_num_partitions=1,
            group_min_session_timeout_ms=1,
            group_initial_rebalance_delay_ms=self.random.choice((0, 50, 300)),
            group_max_size=self.random.choice((3, 100, 100)),
            new_member_join_timeout_ms=5_000,
        )
        self.harness = Harness(config, {"t": (b"t" * 16, PARTITIONS)})
        self.members = [self._new_member(index) for index in range(10)]
        self.owners: dict[tuple[str, int], dict[int, str]] = defaultdict(dict)
        self.committed: dict[OffsetKey, int] = {}
        self.uncertain: dict[OffsetKey, list[int]] = defaultdict(list)
        self._next_offset = 0

    def _new_member(self, index: int) -> Member:
        instance_id = f"i{index}" if index % 3 == 0 else None
        version = self.random.choice((5, 8, 9) if instance_id else (0, 2, 3, 4, 7, 9))
        return Member(f"m{index}", self.random.choice(GROUPS), version, instance_id)

    # --- the run

    def _take_event(self, choice: float) -> None:
        if choice < 0.35:
            self.harness.timers.advance(self.random.choice((1, 10, 50, 100, 400)))
        elif choice < 0.93:
            self._act(self.random.choice(self.members))
        elif choice < 0.95:
            self._zombie()
        elif choice < 0.97:
            self._admin()
        elif choice < 0.98:
            self._disk()
        else:
            self._crash()

    def _come_to_rest(self) -> None:
        """Every member that lives gets into a generation, and every partition has an owner."""
        for _ in range(600):
            self.harness.timers.advance(50)
            for member in self.members:
                if member.alive and not member.waiting:
                    self._work(member)
            self._check_books()
        for member in self.members:
            if member.alive and self.harness.config.group_max_size >= len(self.members):
                assert member.in_generation, f"{member} is stuck"
                assert not member.waiting, f"{member} is stuck"
        for group_id in GROUPS:
            group = self.harness.core.groups.classic.get(group_id)
            living = [member for member in self.members if member.in_generation and member.group_id == group_id]
            if not living:
                assert group is None or group.state is GroupState.EMPTY, f"{group} without a living member"
                continue
            assert group.state is GroupState.STABLE
            owned = sorted(partition for member in living for partition in member.partitions)
            assert owned == list(range(PARTITIONS))

    # --- members

    def _act(self, member: Member) -> None:
        if not member.alive:
            if self.random.random() < 0.3:
                member.alive = True
                member.incarnation += 1
                member.start_over()
            return
        choice = self.random.random()
        if choice < 0.006:
            # Gone without a word; a static one may come back before its session ends.
            self._remember(member.group_id, member.member_id, member.generation_id)
            member.alive = member.waiting = member.in_generation = False
        elif member.waiting:
            return
        elif choice < 0.02 and member.in_generation:
            self._leave(member)
        elif choice < 0.035 and member.in_generation:
            self._remember(member.group_id, member.member_id, member.generation_id)
            member.join_again()
        elif choice < 0.4 and member.partitions:
            self._commit(member)
        else:
            self._work(member)

    def _work(self, member: Member) -> None:
        """Does what a consumer must do to join the group and stay in it."""
        now_ms = self.harness.timers.now_ms
        if member.must_sync:
            self._sync(member)
        elif not member.in_generation:
            self._join(member)
        elif now_ms - member.last_heartbeat_ms >= SESSION_MS // 4:
            member.last_heartbeat_ms = now_ms
            request = messages.HeartbeatRequest(
                member.group_id, member.generation_id, member.member_id, member.instance_id
            )
            self._send(member, ApiKey.HEARTBEAT, 4, request, self._on_error_code)

    def _send(self, member: Member, api: ApiKey, version: int, request: Any, on_answer: Any) -> None:
        incarnation = member.incarnation
        member.waiting = True

        def answered(response: Any) -> None:
            if member.alive and member.incarnation == incarnation:
                member.waiting = False
                on_answer(member, response)

        self.harness.send(f"{member.name}.{incarnation}", api, version, request, answered)

    def _join(self, member: Member) -> None:
        names = self.random.choice((("range",), ("range", "sticky"), ("sticky", "range")))
        protocols = [messages.JoinGroupRequest.JoinGroupRequestProtocol(name, member.name.encode()) for name in names]
        request = messages.JoinGroupRequest(
            group_id=member.group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            protocol_type="consumer",
            protocols=protocols,
        )
        self._send(member, ApiKey.JOIN_GROUP, member.version, request, self._on_join)

    def _on_join(self, member: Member, response: messages.JoinGroupResponse) -> None:
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            member.member_id = response.member_id
            return
        if response.error_code:
            self._on_error_code(member, response)
            return
        member.member_id = response.member_id
        member.generation_id = response.generation_id
        member.must_sync = True
        member.last_heartbeat_ms = self.harness.timers.now_ms
        leads = response.leader == response.member_id and not response.skip_assignment
        member.leads = [other.member_id for other in response.members] if leads else None

    def _sync(self, member: Member) -> None:
        assignments = []
        for index, member_id in enumerate(member.leads or ()):
            mine = range(index, PARTITIONS, len(member.leads or ()))
            assignment = ",".join(map(str, mine)).encode()
            assignments.append(messages.SyncGroupRequest.SyncGroupRequestAssignment(member_id, assignment))
        request = messages.SyncGroupRequest(
            group_id=member.group_id,
            generation_id=member.generation_id,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            assignments=assignments,
        )
        self._send(member, ApiKey.SYNC_GROUP, 4, request, self._on_sync)

    def _on_sync(self, member: Member, response: messages.SyncGroupResponse) -> None:
        member.must_sync = False
        if response.error_code:
            self._on_error_code(member, response)
            return
        member.in_generation = True
        member.last_heartbeat_ms = self.harness.timers.now_ms
        member.partitions = [int(text) for text in response.assignment.decode().split(",") if text]
        owners = self.owners[member.group_id, member.generation_id]
        for partition in member.partitions:
            owner = owners.setdefault(partition, member.instance_id or member.member_id)
            assert owner == (member.instance_id or member.member_id), f"two owners of {partition}: {owner}, {member}"

    def _on_error_code(self, member: Member, response: Any) -> None:
        error = ErrorCode(response.error_code)
        if not error:
            return
        self._remember(member.group_id, member.member_id, member.generation_id)
        if error is ErrorCode.FENCED_INSTANCE_ID:
            member.alive = member.in_generation = False
        elif error in STARTING_OVER:
            member.start_over()
        else:
            member.join_again()

    def _leave(self, member: Member) -> None:
        self._remember(member.group_id, member.member_id, member.generation_id)
        identity = messages.LeaveGroupRequest.MemberIdentity(member.member_id, member.instance_id)
        request = messages.LeaveGroupRequest(group_id=member.group_id, members=[identity])
        self.harness.send(member.name, ApiKey.LEAVE_GROUP, 5, request, lambda _: None)
        member.alive = member.in_generation = False

    # --- commits

    def _commit(self, member: Member) -> None:
        member.waiting = True
        incarnation = member.incarnation

        def answered(error: messages.OffsetCommitResponse.OffsetCommitResponsePartition) -> None:
            if member.alive and member.incarnation == incarnation:
                member.waiting = False
                self._on_error_code(member, error)

        partition = self.random.choice(member.partitions)
        identity = (member.group_id, member.member_id, member.generation_id)
        self._send_commit(member.name, identity, member.instance_id, partition, answered)

    def _send_commit(
        self, name: str, identity: tuple[str, str, int], instance_id: str | None, partition: int, answered: Any
    ) -> None:
        """Commits, and notes which offsets may now be stored."""
        group_id, member_id, generation_id = identity
        self._next_offset += 1
        offset = self._next_offset
        key = (group_id, partition)
        self.uncertain[key].append(offset)

        def on_answer(response: messages.OffsetCommitResponse) -> None:
            [result] = response.topics[0].partitions
            if result.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
                pass  # it was not stored in time, but may still take effect
            elif result.error_code:
                self.uncertain[key].remove(offset)
            else:
                # Commits before it in the log have no effect any more.
                self.uncertain[key] = [other for other in self.uncertain[key] if other > offset]
                self.committed[key] = offset
            answered(result)

        commit = messages.OffsetCommitRequest.OffsetCommitRequestPartition(partition, offset)
        topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[commit])
        request = messages.OffsetCommitRequest(group_id, generation_id, member_id, instance_id, topics=[topic])
        self.harness.send(name, ApiKey.OFFSET_COMMIT, 8, request, on_answer)

    # --- others

    def _zombie(self) -> None:
        """A former member sends a request."""
        if not self._past:
            return
        group_id, member_id, generation_id = identity = self.random.choice(self._past)
        match self.random.randrange(4):
            case 0:
                self._send_commit("zombie", identity, None, self.random.randrange(PARTITIONS), lambda _: None)
            case 1:
                request = messages.HeartbeatRequest(group_id, generation_id, member_id)
                self.harness.send("zombie", ApiKey.HEARTBEAT, 4, request, lambda _: None)
            case 2:
                identities = [messages.LeaveGroupRequest.MemberIdentity(member_id)]
                leave = messages.LeaveGroupRequest(group_id=group_id, members=identities)
                self.harness.send("zombie", ApiKey.LEAVE_GROUP, 5, leave, lambda _: None)
            case 3:
                # A commit without a member is accepted while the group is empty, and refused otherwise.
                no_member = (group_id, "", -1)
                self._send_commit("zombie", no_member, None, self.random.randrange(PARTITIONS), lambda _: None)

    def _admin(self) -> None:
        group_id = self.random.choice(GROUPS)
        if self.random.random() < 0.5:
            identity = messages.LeaveGroupRequest.MemberIdentity("", f"i{self.random.randrange(0, 10, 3)}")
            leave = messages.LeaveGroupRequest(group_id=group_id, members=[identity])
            self.harness.send("admin", ApiKey.LEAVE_GROUP, 5, leave, lambda _: None)
            return
        self.harness.log.release()

        def deleted(response: messages.DeleteGroupsResponse) -> None:
            if not response.results[0].error_code:
                for key in [key for key in self.committed if key[0] == group_id]:
                    del self.committed[key]
                # A group of the same name starts with generation 1 again.
                for generation in [generation for generation in self.owners if generation[0] == group_id]:
                    del self.owners[generation]

        self.harness.send(
            "admin", ApiKey.DELETE_GROUPS, 2, messages.DeleteGroupsRequest(groups_names=[group_id]), deleted
        )

    def _crash(self) -> None:
        self._restart(self.harness.log.compact)
        for member in self.members:
            if member.waiting:
                # Its connection was lost: it joins again with its member id.
                member.waiting = False
                member.join_again()
        self._settle_uncertain()

    def _settle_uncertain(self) -> None:
        for key, offsets in self.uncertain.items():
            stored = self.harness.core.offsets.get(key[0], "t", key[1])
            found = None if stored is None else stored.offset
            assert found in (self.committed.get(key), *offsets), f"{key}: {found}, not {self.committed.get(key)}"
            if found is not None:
                self.committed[key] = found
        self.uncertain.clear()

    # --- checks

    def _check_books(self) -> None:
        check_books(self.harness.core)

    def _check_offsets(self) -> None:
        """Checks committed offsets through the API, while no request is in flight."""
        for group_id in GROUPS:
            group = messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None)
            request = messages.OffsetFetchRequest(groups=[group])
            response = self.harness.ask("admin", ApiKey.OFFSET_FETCH, 8, request)
            fetched = {
                (group_id, partition.partition_index): partition.committed_offset
                for topic in response.groups[0].topics
                for partition in topic.partitions
            }
            for key, offsets in self.uncertain.items():
                if key[0] == group_id and fetched.get(key) in offsets:
                    self.committed[key] = fetched[key]
            assert fetched == {key: offset for key, offset in self.committed.items() if key[0] == group_id}
