"""The records that store a new target assignment.

Owns: which members get a record. Never does: assigning, storing. Pure but for log lines. Source:
``TargetAssignmentBuilder.build``.
"""

import logging
from collections.abc import Mapping

from ....protocol.steps import Steps
from ..records import CoordinatorRecord, EncodedRecord
from .assignors.interface import A_STEP, TopicId
from .group import ConsumerGroup
from .records import target_epoch_record, target_record

logger = logging.getLogger(__name__)

Targets = Mapping[str, Mapping[TopicId, frozenset[int]]]
"""The target assignment of each member, by member id."""
EncodedTargets = Mapping[str, CoordinatorRecord]
"""Records of targets that are encoded already, by member id."""
NOTHING_ENCODED: EncodedTargets = {}


def changed_targets(
    group: ConsumerGroup,
    targets: Targets,
    group_epoch: int,
    assignor: str,
    now_ms: int,
    encoded: EncodedTargets = NOTHING_ENCODED,
) -> list[CoordinatorRecord]:
    """The records of the members whose targets change, and of the epoch for which ``assignor`` computed them.

    ``encoded``: records of these targets that were made before.
    """
    logger.info("group %r: target assignment of epoch %d by %r", group.group_id, group_epoch, assignor)
    records = [
        encoded.get(member_id) or target_record(group.group_id, member_id, target)
        for member_id, target in targets.items()
        if group.target_assignment.get(member_id) != target
    ]
    records.append(target_epoch_record(group.group_id, group_epoch, now_ms))
    return records


def encode_changed_targets(group: ConsumerGroup, targets: Targets) -> Steps[EncodedTargets]:
    """Makes the records of the targets that change and encodes them, in steps: of 8,000 members it takes 25 ms."""
    encoded: dict[str, CoordinatorRecord] = {}
    for number, (member_id, target) in enumerate(targets.items()):
        if number % A_STEP == 0:
            yield
        if group.target_assignment.get(member_id) != target:
            encoded[member_id] = EncodedRecord(target_record(group.group_id, member_id, target))
    return encoded
