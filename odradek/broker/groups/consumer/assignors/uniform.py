"""The assignor ``uniform``: members own equal numbers of partitions as far as subscriptions allow, and it is sticky.

Owns: the choice between the homogeneous and the heterogeneous algorithm. Never does: keeping state. Invariants: equal
input, equal output; balance comes before stickiness. Source:
``org.apache.kafka.coordinator.group.assignor.UniformAssignor``.
"""

from odradek.protocol.common.steps import Steps, run_to_end

from ...modern.assignment import GroupAssignment, GroupSpec, SubscribedTopicDescriber
from .uniform_heterogeneous import assign_heterogeneous
from .uniform_homogeneous import assign_homogeneous


def assign(spec: GroupSpec, describer: SubscribedTopicDescriber) -> GroupAssignment:
    """The target assignment of all members. Raises PartitionAssignorError for a topic that does not exist."""
    return run_to_end(assign_in_steps(spec, describer))


def assign_in_steps(spec: GroupSpec, describer: SubscribedTopicDescriber) -> Steps[GroupAssignment]:
    """:func:`assign` in steps."""
    if not spec.members:
        return {}
    if spec.is_homogeneous:
        return (yield from assign_homogeneous(spec, describer))
    return (yield from assign_heterogeneous(spec, describer))
