"""The assignor ``uniform``: members own equally many partitions as far as subscriptions allow, and keep what they have.

Owns: the choice between its two ways. Never does: state. Invariants: equal input, equal output; balance comes before
stickiness. Source: ``org.apache.kafka.coordinator.group.assignor.UniformAssignor``.
"""

from .interface import GroupAssignment, GroupSpec, SubscribedTopicDescriber
from .uniform_heterogeneous import assign_heterogeneous
from .uniform_homogeneous import assign_homogeneous


def assign(spec: GroupSpec, describer: SubscribedTopicDescriber) -> GroupAssignment:
    """The target assignment of all members. Raises PartitionAssignorError for a topic that does not exist."""
    if not spec.members:
        return {}
    if spec.is_homogeneous:
        return assign_homogeneous(spec, describer)
    return assign_heterogeneous(spec, describer)
