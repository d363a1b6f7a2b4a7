"""Random requests about configurations."""

from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from odradek.protocol.messages.structure import Message
from parity.question_draws import Draws, Question
from parity.world import Names


class ConfigQuestions:
    """Draws requests that describe and change configurations."""

    def __init__(self, draws: Draws) -> None:
        self._draw = draws

    def _config_resources(self) -> list[tuple[int, str]]:
        rng = self._draw.rng
        return [
            rng.choice(
                (
                    (2, self._draw.topic()),
                    (2, self._draw.topic()),
                    (2, "bad name"),
                    (2, ""),
                    (4, ""),
                    (4, "7"),
                    (4, "x"),
                    (32, "readers"),
                )
            )
            for _ in range(rng.choice((1, 1, 2)))
        ]

    def describe_configs(self) -> Question:
        version = self._draw.version(DescribeConfigsRequest)
        rng = self._draw.rng
        resources = list(dict.fromkeys(self._config_resources()))
        keys = rng.choice((["cleanup.policy", "retention.ms"], ["no.such"], ["segment.bytes", "max.message.bytes"], []))
        synonyms = rng.random() < 0.5

        def make(names: Names) -> Message:
            wanted = [
                DescribeConfigsRequest.DescribeConfigsResource(kind, name, list(keys)) for kind, name in resources
            ]
            return DescribeConfigsRequest(wanted, synonyms if version >= 1 else False)

        return version, make

    def incremental_alter_configs(self) -> Question:
        version = self._draw.version(IncrementalAlterConfigsRequest)
        rng = self._draw.rng
        topic = self._draw.topic()
        key, value = rng.choice(
            (
                ("retention.ms", "1000000"),
                ("retention.ms", "abc"),
                ("cleanup.policy", "compact"),
                ("cleanup.policy", "delete"),
                ("no.such", "1"),
                ("max.message.bytes", "1000000"),
                ("max.message.bytes", None),
                ("", "1"),
            )
        )
        operation = rng.choice((0, 0, 1, 2, 3))
        validate_only = rng.random() < 0.3

        def make(names: Names) -> Message:
            config = IncrementalAlterConfigsRequest.AlterableConfig(key, operation, value)
            return IncrementalAlterConfigsRequest(
                [IncrementalAlterConfigsRequest.AlterConfigsResource(2, topic, [config])], validate_only
            )

        return version, make

    def alter_configs(self) -> Question:
        version = self._draw.version(AlterConfigsRequest)
        rng = self._draw.rng
        topic = self._draw.topic()
        key, value = rng.choice(
            (("retention.ms", "2000000"), ("retention.ms", None), ("no.such", "1"), ("segment.ms", "100000000"))
        )
        validate_only = rng.random() < 0.5

        def make(names: Names) -> Message:
            config = AlterConfigsRequest.AlterableConfig(key, value)
            return AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(2, topic, [config])], validate_only)

        return version, make

    def list_config_resources(self) -> Question:
        version = self._draw.version(ListConfigResourcesRequest)
        kinds = self._draw.rng.choice(([], [2], [4], [16], [2, 4], [99])) if version >= 1 else []
        return version, lambda names: ListConfigResourcesRequest(list(kinds))
