"""The admin client's part for configurations: describe, change incrementally (KIP-339)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

from ..errors import broker_error
from .base import CONTROLLERS, AdminBase, all_or_raise, split

RESOURCE_TYPES = {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}
"""Kafka's ConfigResource types by the names of ``--entity-type``."""
CONFIG_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}


class ConfigSynonym(NamedTuple):
    """A place that sets a configuration, and the value there. ``ConfigEntry.synonyms`` has them by precedence."""

    name: str
    value: str | None
    source: str


class ConfigEntry(NamedTuple):
    """One configuration of a resource. ``source`` is Kafka's ConfigSource name: DYNAMIC_TOPIC_CONFIG …"""

    name: str
    value: str | None
    source: str
    is_sensitive: bool = False
    is_read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None


class ConfigAdmin(AdminBase):
    """Calls about configurations; part of Admin."""

    async def describe_configs(
        self, resource_type: str, names: Collection[str], *, synonyms: bool = False, documentation: bool = False
    ) -> dict[str, list[ConfigEntry]]:
        """The configurations of topics, brokers or groups by name. Raises AdminError.

        ``resource_type`` is topic, broker, broker-logger, client-metrics or group. The name of a broker is its id; the
        broker name "" is the cluster-wide default.
        """
        by_node: dict[int | None, list[str]] = defaultdict(list)
        for name in names:
            by_node[_node_of(resource_type, name)].append(name)
        errors: dict[str, KafkaError] = {}
        results: dict[str, list[ConfigEntry]] = {}
        for node_id, names_there in by_node.items():
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsRequest.DescribeConfigsResource(
                        resource_type=RESOURCE_TYPES[resource_type], resource_name=name, configuration_keys=None
                    )
                    for name in names_there
                ],
                include_synonyms=synonyms,
                include_documentation=documentation,
            )
            connection = await self._node_or_any(node_id)
            response = await connection.call(request, DescribeConfigsResponse, timeout_ms=self._timeout_ms)
            failed, found = split((r.resource_name, r.error_code, r.error_message, r) for r in response.results)
            errors.update(failed)
            results.update({name: [_config_entry(entry) for entry in r.configs] for name, r in found.items()})
        return all_or_raise(errors, results)

    async def list_config_resources(self, resource_type: str) -> list[str]:
        """The names of all resources of a type that have configurations (KIP-1142). Raises KafkaError."""
        type_code = RESOURCE_TYPES[resource_type]
        request = ListConfigResourcesRequest(resource_types=[type_code])
        connection = await self._node_or_any(None)
        response = await connection.call(request, ListConfigResourcesResponse, timeout_ms=self._timeout_ms)
        if response.error_code:
            raise broker_error(response.error_code, f"the names of type {resource_type}")
        return [found.resource_name for found in response.config_resources if found.resource_type == type_code]

    async def incremental_alter_configs(
        self,
        resource_type: str,
        name: str,
        *,
        set_configs: Mapping[str, str] | None = None,
        delete_configs: Iterable[str] = (),
        append_configs: Mapping[str, str] | None = None,
        subtract_configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Changes configurations of one resource; its other ones stay unchanged. Raises KafkaError: INVALID_CONFIG …"""
        changes: list[tuple[str, int, str | None]] = [(key, 0, value) for key, value in (set_configs or {}).items()]
        changes += [(key, 1, None) for key in delete_configs]
        changes += [(key, 2, value) for key, value in (append_configs or {}).items()]
        changes += [(key, 3, value) for key, value in (subtract_configs or {}).items()]
        request = IncrementalAlterConfigsRequest(
            resources=[
                IncrementalAlterConfigsRequest.AlterConfigsResource(
                    resource_type=RESOURCE_TYPES[resource_type],
                    resource_name=name,
                    configs=[
                        IncrementalAlterConfigsRequest.AlterableConfig(
                            name=key, config_operation=operation, value=value
                        )
                        for key, operation, value in changes
                    ],
                )
            ],
            validate_only=validate_only,
        )
        if self._endpoint_type == CONTROLLERS:
            response = await self._controller_call(request, IncrementalAlterConfigsResponse)
        else:
            connection = await self._node_or_any(_node_of(resource_type, name))
            response = await connection.call(request, IncrementalAlterConfigsResponse, timeout_ms=self._timeout_ms)
        for answer in response.responses:
            if answer.error_code:
                raise broker_error(answer.error_code, f"{resource_type} '{name}'", answer.error_message)


def _node_of(resource_type: str, name: str) -> int | None:
    """The id of the broker that must get the request: brokers serve their own configurations. None: any broker."""
    return int(name) if resource_type in ("broker", "broker-logger") and name else None


def _config_entry(entry: DescribeConfigsResponse.DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=entry.name,
        value=entry.value,
        source=CONFIG_SOURCES.get(entry.config_source, "UNKNOWN"),
        is_sensitive=entry.is_sensitive,
        is_read_only=entry.read_only,
        synonyms=tuple(ConfigSynonym(s.name, s.value, CONFIG_SOURCES.get(s.source, "UNKNOWN")) for s in entry.synonyms),
        documentation=entry.documentation,
    )
