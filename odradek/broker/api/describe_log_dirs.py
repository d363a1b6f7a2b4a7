"""DescribeLogDirs (35): the partitions in each log directory, and its disk space.

Versions: 0 to 5. 2: flexible. 3: an error of the whole answer. 4: total and usable bytes. 5: cordoned directories
(KIP-1066).
Errors, for each directory: KAFKA_STORAGE_ERROR (offline).
Null topics mean all partitions. A replica that is being moved to a directory is listed there with ``is_future_key``;
its lag is the number of offsets still to copy. ``__cluster_metadata`` is not listed. A directory that takes no
records of clients has no usable bytes, although other writes still find some. Source: KIP-113, KIP-827;
``ReplicaManager.describeLogDirs``.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.directory.directory_contents import log_bytes
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory

from ..dispatch.request import RequestContext
from .parts import DirectoryParts

API_KEY = ApiKey.DESCRIBE_LOG_DIRS

DescribeLogDirsResult = DescribeLogDirsResponse.DescribeLogDirsResult
DescribeLogDirsTopic = DescribeLogDirsResponse.DescribeLogDirsTopic
DescribeLogDirsPartition = DescribeLogDirsResponse.DescribeLogDirsPartition
Wanted = set[tuple[str, int]]


def handle(
    broker: DirectoryParts,
    request: DescribeLogDirsRequest,
    context: RequestContext,
    reply: Callable[[DescribeLogDirsResponse], None],
) -> Iterator[None]:
    """Answers for every directory in ``log.dirs``, in that order."""
    wanted: Wanted | None = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    response = DescribeLogDirsResponse()
    for path in broker.log_dirs.paths:
        response.results.append((yield from _describe(broker.log_dirs, path, wanted)))
    reply(response)


def _describe(log_dirs: LogDirectories, path: Path, wanted: Wanted | None) -> Steps[DescribeLogDirsResult]:
    directory = log_dirs.by_path(path)
    if directory is None:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(path))
    try:
        usable, total = directory.files.space(directory.path)
        topics: dict[str, DescribeLogDirsTopic] = {}
        asked = () if wanted == set() else _partitions(log_dirs, directory, wanted)
        for topic, partition in asked:
            yield
            if partition is None:
                continue
            topics.setdefault(topic, DescribeLogDirsTopic(topic)).partitions.append(partition)
    except OSError as error:
        directory.storage_error(error)
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(path))
    return DescribeLogDirsResult(
        error_code=ErrorCode.NONE,
        log_dir=str(path),
        topics=list(topics.values()),
        total_bytes=total,
        usable_bytes=usable if directory.gate.refusal is None else 0,
        is_cordoned=path in log_dirs.cordoned,
    )


def _partitions(
    log_dirs: LogDirectories, directory: LogDirectory, wanted: Wanted | None
) -> Iterator[tuple[str, DescribeLogDirsPartition | None]]:
    """Each partition of a directory, with None if the request does not name it.

    Leaves out partitions that are removed while the answer is built in steps.
    """
    for topic, index in sorted([*directory.logs, *directory.found]):
        if topic == METADATA_TOPIC or (wanted is not None and (topic, index) not in wanted):
            yield topic, None
            continue
        log, found = directory.logs.get((topic, index)), directory.found.get((topic, index))
        if log is not None:
            yield topic, DescribeLogDirsPartition(index, log.segments.size_in_bytes, 0, False)
        elif found is not None:
            yield topic, DescribeLogDirsPartition(index, log_bytes(directory.files, found.path), 0, False)
    for (topic, index), future in sorted(directory.futures.items()):
        if wanted is None or (topic, index) in wanted:
            holder = log_dirs.holder(topic, index)
            log = None if holder is None else holder.logs.get((topic, index))
            lag = -1 if log is None else max(log.log_end_offset - future.log_end_offset, 0)
            yield topic, DescribeLogDirsPartition(index, future.segments.size_in_bytes, lag, True)
