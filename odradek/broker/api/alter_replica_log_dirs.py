"""AlterReplicaLogDirs (34): moves partitions between the log directories of this broker.

Versions: 0 to 2. 2: flexible.
Errors, for each partition: INVALID_TOPIC_EXCEPTION (the name is too long for the directory of a future replica),
LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR (the directory or the partition is offline), INVALID_REPLICA_ASSIGNMENT (the
directory is cordoned), UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE.
The answer is sent once the move has begun; DescribeLogDirs shows its progress. A request that names the directory the
partition is in cancels its move to another one. Source: KIP-113; ``ReplicaManager.alterReplicaLogDirs``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse

from ..dispatch.request import RequestContext
from .parts import DirectoryParts

API_KEY = ApiKey.ALTER_REPLICA_LOG_DIRS

AlterReplicaLogDirTopicResult = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
AlterReplicaLogDirPartitionResult = AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult


def handle(
    broker: DirectoryParts,
    request: AlterReplicaLogDirsRequest,
    context: RequestContext,
    reply: Callable[[AlterReplicaLogDirsResponse], None],
) -> Iterator[None]:
    """Starts each move. If a partition is named twice, the last directory counts, as in Kafka."""
    wanted = {
        (topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (topic, index), path in wanted.items():
        yield
        code = ErrorCode.NONE
        try:
            broker.replica_moves.alter(topic, index, path)
        except KafkaError as error:
            code = error.error_code
        results.setdefault(topic, AlterReplicaLogDirTopicResult(topic)).partitions.append(
            AlterReplicaLogDirPartitionResult(index, code)
        )
    reply(AlterReplicaLogDirsResponse(results=list(results.values())))
