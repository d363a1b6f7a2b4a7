"""Requests for configs of the resources that the tests' ACLs name."""

from collections.abc import Callable
from typing import Any

from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.structure import Message
from parity.authorization_names import GROUPS, TOPICS


def _configs(request: Any, entry: Callable[[int], list[Any]]) -> list[Any]:
    resource = request.AlterConfigsResource
    return [
        *(resource(2, topic, entry(2)) for topic in TOPICS[:2]),
        resource(4, "", entry(4)),
        resource(32, GROUPS[0], entry(32)),
    ]


def incremental(_: dict[str, bytes]) -> Message:
    key = {
        2: ("retention.ms", "9000000"),
        4: ("log.cleaner.threads", "1"),
        32: ("consumer.session.timeout.ms", "46000"),
    }
    entry = IncrementalAlterConfigsRequest.AlterableConfig
    return IncrementalAlterConfigsRequest(
        _configs(IncrementalAlterConfigsRequest, lambda kind: [entry(key[kind][0], 0, key[kind][1])]), True
    )


def logger_level(_: dict[str, bytes]) -> Message:
    """Changes a logger's level. The broker handles it alone, without the controller."""
    entry = IncrementalAlterConfigsRequest.AlterableConfig("no.such.logger", 0, "DEBUG")
    return IncrementalAlterConfigsRequest([IncrementalAlterConfigsRequest.AlterConfigsResource(8, "1", [entry])])


def legacy(_: dict[str, bytes]) -> Message:
    entry = AlterConfigsRequest.AlterableConfig
    resource = AlterConfigsRequest.AlterConfigsResource
    resources = [resource(2, topic, [entry("retention.ms", "9000000")]) for topic in TOPICS[:2]]
    resources += [
        resource(4, "", [entry("log.cleaner.threads", "1")]),
        resource(32, GROUPS[0], [entry("consumer.session.timeout.ms", "46000")]),
    ]
    return AlterConfigsRequest(resources, True)


def describe_configs(_: dict[str, bytes]) -> Message:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        [
            *(resource(2, topic, ["retention.ms"]) for topic in TOPICS),
            resource(4, "1", ["log.cleaner.threads"]),
            resource(32, GROUPS[0], ["consumer.session.timeout.ms"]),
        ]
    )
