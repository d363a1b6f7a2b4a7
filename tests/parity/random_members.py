"""Random members of one classic group, on Odradek and a real Kafka in step.

Joins are parked, static members are replaced, members commit and leave at any time, transactions commit offsets, and
members send requests that they should not send. Two cases are left out, because Kafka answers them randomly or not at
all: a leader that leaves at least two members behind (the next leader is the first of a hash map of random ids), and a
second request of a member whose request is parked.
"""

import random

from parity.coordination import Group
from parity.two_brokers import TwoBrokers

TOPIC = "random-members"
DYNAMIC = "abc"
STATIC = {"s": "i", "u": "i", "t": "j"}
"""Member -> instance id. Two members share an id, and fence each other."""
UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID = 25, 82


class RandomMembers:
    """The random history of one group."""

    def __init__(self, both: TwoBrokers, name: str, seed: int) -> None:
        """``name``: the group's name."""
        self.random = random.Random(seed)
        self.group = Group(both, name, TOPIC)
        self.leader: str | None = None
        self.read = 0
        for who, instance_id in STATIC.items():
            self.group.actor(who).instance_id = instance_id

    def step(self) -> None:
        """Runs one command, or nothing if the chosen member waits for an answer."""
        command = self._next()
        if command is not None:
            self.group.do(command)
            self._learn()

    def end(self) -> int:
        """Closes the connections. Returns the number of commands. A command sends up to two requests, or none."""
        self.group.steps.close()
        return len(self.group.steps.commands)

    def _learn(self) -> None:
        """Learns which member is the leader, and which members have lost their ids."""
        seen = self.group.steps.seen
        for asked, answer in seen[self.read :]:
            if " JoinGroupRequest " not in asked:
                continue
            who = asked.split()[0]
            if answer["errorCode"] == 0:
                self.leader = answer["leader"]
            elif answer["errorCode"] in (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID):
                self.group.actor(who).ids = ("", "")
        self.read = len(seen)

    def _next(self) -> str | None:
        chance = self.random
        who = chance.choice([*DYNAMIC, *STATIC])
        actor = self.group.actor(who)
        if not self.group.steps.free(who):
            return None
        gen = chance.choice(("", "", "", "", " gen=+1", " gen=-1", " gen==-1"))
        strange = chance.choice(("", "", "", "", "", " member=ghost", " member=", " inst=k", " inst=-"))
        what = chance.choices(
            ("join", "sync", "heartbeat", "commit", "txn", "leave", "look", "fetch", "list", "forget", "delete"),
            (30, 25, 8, 8, 3, 6, 3, 3, 1, 2, 1),
        )[0]
        match what:
            case "join":
                protocols = chance.choice(("range:t", "range:t", "range:t,sticky:t", "sticky:u,range:t", "sticky:t"))
                version = chance.choice((5, 7, 9)) if actor.instance_id else chance.choice((2, 3, 4, 7, 9))
                if strange in (" inst=k", " inst=-", " member="):
                    strange = ""
                return f"{who} join v={version} protocols={protocols}{strange}"
            case "sync":
                names = ",".join(filter(None, (self._name(name) for name in (*DYNAMIC, *STATIC))))
                given = f" for={names}" if chance.random() < 0.8 else ""
                how = chance.choice((" v=3", " v=4", " v=5", " v=5 protocol=sticky"))
                return f"{who} sync{how}{gen}{strange}{given}"
            case "heartbeat" | "txn":
                return f"{who} {what}{gen}{strange}"
            case "commit":
                version = chance.choice((2, 5, 7, 8, 9))
                return f"{who} commit v={version} offset={chance.randrange(100)}{gen}{strange}"
            case "leave":
                return self._leave(who)
            case "fetch":
                return chance.choice(("fetch", "fetch stable=yes"))
            case "list":
                return chance.choice(("list", "list states=Stable,Empty", "list types=classic"))
        return what

    def _name(self, who: str) -> str:
        return self.group.name_of(who)

    def _leave(self, who: str) -> str | None:
        actor = self.group.actor(who)
        shared = [one for one, instance_id in STATIC.items() if instance_id == actor.instance_id]
        if not all(map(self.group.steps.free, shared)):
            return None  # Odradek answers the SyncGroup of a member that leaves, Kafka never does (docs/groups.md)
        # If a replaced static member leaves, its instance id removes the member that replaced it.
        may_lead = self.leader is None or self.leader == self._name(who) or actor.instance_id is not None
        if may_lead and self.group.member_count() > 2:
            return None
        if may_lead:
            self.leader = None
        command = f"{who} leave v={self.random.choice((3, 4))}"
        if shared and self.random.random() < 0.3:
            command = f"{who} leave members=/{actor.instance_id}"
        return command
