"""The states of a classic group, and which may follow which.

Everything that decides a transition reads this table. Source: ``ClassicGroupState``.

=====================  =====================================================================================
Empty                  no members; offsets may be there. A join leads to PreparingRebalance
PreparingRebalance     waits for the members to join. All have joined, or time is up: CompletingRebalance
                       (Empty if no members are left)
CompletingRebalance    waits for the leader's assignment. It comes: Stable; a join, leave or failure:
                       PreparingRebalance
Stable                 serves heartbeats. A join, leave or failure: PreparingRebalance
Dead                   being unloaded
=====================  =====================================================================================
"""

from enum import StrEnum


class GroupState(StrEnum):
    """A classic group's state, under the name that clients see."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset((GroupState.PREPARING_REBALANCE,)),
    GroupState.PREPARING_REBALANCE: frozenset(
        (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY),
    ),
    GroupState.COMPLETING_REBALANCE: frozenset((GroupState.PREPARING_REBALANCE,)),
    GroupState.STABLE: frozenset((GroupState.COMPLETING_REBALANCE,)),
    GroupState.DEAD: frozenset(GroupState),
}
"""State -> the states that it may be entered from."""
