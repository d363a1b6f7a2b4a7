"""The request that tells a leader not to count on copies whose disk has no room.

A leader waits for a follower that was caught up within ``replica.lag.time.max.ms`` (30 s), also after it has left the
ISR: nothing would be acknowledged for that long (``Partition.maybeIncrementLeaderHW``). It does not wait for one whose
last fetch has another broker epoch than its registration (KIP-903, ``Partition.isReplicaIsrEligible``), since that
broker is about to register anew, for all that the leader knows. So this request has the next broker epoch. The first
one of a copy with room has the right one again, with which it may join the ISR.

Pure. Never does: sending. Source: our own use of KIP-903; Kafka's broker ends itself instead.
"""

from collections.abc import Iterable

from odradek.protocol.messages.fetch import FetchRequest

from .copy import Copy
from .fetch_session import NO_SESSION_ID

FINAL_EPOCH = -1
"""The session epoch of a request without a session (``FetchMetadata.FINAL_EPOCH``)."""


def withdrawing(node_id: int, broker_epoch: int, copies: Iterable[Copy]) -> FetchRequest:
    """The request, which must be sent after these copies have stopped fetching. The records in its answer are of no
    use.

    ``broker_epoch``: of this broker's registration.
    """
    topics: dict[bytes, FetchRequest.FetchTopic] = {}
    for copy in copies:
        topic_id = copy.partition.topic_id
        topic = topics.setdefault(topic_id, FetchRequest.FetchTopic(topic_id=topic_id, partitions=[]))
        partition = copy.request()
        partition.partition_max_bytes = 1
        topic.partitions.append(partition)
    return FetchRequest(
        replica_state=FetchRequest.ReplicaState(node_id, broker_epoch + 1),
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        session_id=NO_SESSION_ID,
        session_epoch=FINAL_EPOCH,
        topics=list(topics.values()),
    )
