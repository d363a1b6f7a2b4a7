"""The states of a classic group, and the allowed transitions.

Every transition is checked against VALID_PREVIOUS_STATES. Source: ``ClassicGroupState``.

=====================  =====================================================================================
Empty                  has no members, perhaps committed offsets. A join leads to PreparingRebalance
PreparingRebalance     waits for the members to join. When all have joined, or after the timeout, leads to
                       CompletingRebalance (to Empty if no members are left)
CompletingRebalance    waits for the leader's assignment, which leads to Stable. A join, leave or failure
                       of a member leads to PreparingRebalance
Stable                 serves heartbeats. A join, leave or failure leads to PreparingRebalance
Dead                   the partition is being unloaded
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
"""State -> the states from which it may be entered."""
