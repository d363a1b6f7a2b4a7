"""Why the voters of a broker that is its own controller can't be changed. Pure.

Such a broker is the only voter of its metadata log, and replicates it to no other node. The checks and their texts are
Kafka's, whose tools show them. Source: ``AddVoterHandler``, ``RemoveVoterHandler``, ``KafkaRaftClient``; KIP-853.
"""

from collections.abc import Sequence

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.quorum import AddRaftVoterRequest
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.storage.files.meta_properties import uuid_text

from ..publisher.service import OnlyVoter

Listener = AddRaftVoterRequest.Listener
FIRST_WITH_VOTERS = 1
"""The lowest kraft.version whose log has the voters."""


def refuse_adding(
    voter: OnlyVoter, cluster_id: str | None, voter_id: int, directory_id: bytes, listeners: Sequence[Listener]
) -> KafkaError:
    """The error of a request that adds a voter."""
    problem = _problem(voter, cluster_id, voter_id, directory_id, "Add")
    if problem is not None:
        return problem
    if voter.listener not in [listener.name for listener in listeners]:
        named = ", ".join(f"ListenerName({one.name})={one.host}/<unresolved>:{one.port}" for one in listeners)
        sentence = (
            f"Add voter request didn't include the endpoint (Endpoints(endpoints={{{named}}})) for the default "
            f"listener ListenerName({voter.listener})"
        )
        return KafkaError(ErrorCode.INVALID_REQUEST, sentence)
    if voter.kraft_version < FIRST_WITH_VOTERS:
        return _without_voters("adding")
    if voter_id == voter.node_id:
        key, voters = _key(voter_id, directory_id), _key(voter.node_id, voter.directory_id)
        sentence = f"The voter id for {key} is already part of the set of voters [{voters}]."
        return KafkaError(ErrorCode.DUPLICATE_VOTER, sentence)
    sentence = "This broker is its own controller, and replicates its metadata log to no other node."
    return KafkaError(ErrorCode.UNSUPPORTED_VERSION, sentence)


def refuse_removing(voter: OnlyVoter, cluster_id: str | None, voter_id: int, directory_id: bytes) -> KafkaError:
    """The error of a request that removes a voter: the last one stays."""
    problem = _problem(voter, cluster_id, voter_id, directory_id, "Remove")
    if problem is not None:
        return problem
    if voter.kraft_version < FIRST_WITH_VOTERS:
        return _without_voters("removing")
    key, voters = _key(voter_id, directory_id), _key(voter.node_id, voter.directory_id)
    return KafkaError(ErrorCode.VOTER_NOT_FOUND, f"Cannot remove voter {key} from the set of voters [{voters}]")


def _problem(
    voter: OnlyVoter, cluster_id: str | None, voter_id: int, directory_id: bytes, verb: str
) -> KafkaError | None:
    """What is wrong with a request, whatever the voters are."""
    if cluster_id not in (None, voter.cluster_id):
        sentence = f'The given id "{cluster_id}" doesn\'t match the cluster id "{voter.cluster_id}"'
        return KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, sentence)
    if voter_id < 0 or directory_id == ZERO_UUID:
        return KafkaError(ErrorCode.INVALID_REQUEST, f"{verb} voter request didn't include a valid voter")
    return None


def _without_voters(verb: str) -> KafkaError:
    sentence = f"Cluster doesn't support {verb} voter because the kraft.version feature is 0"
    return KafkaError(ErrorCode.UNSUPPORTED_VERSION, sentence)


def _key(node_id: int, directory_id: bytes) -> str:
    return f"ReplicaKey(id={node_id}, directoryId={uuid_text(directory_id)})"
