"""Puts the dispatcher of a broker together: what may happen to a request before its handler gets it.

Owns: the order in which the dispatcher is changed: metrics, a test's interception, the role's routes, the authorizer,
quotas, read-only mode. Never does: serving. Source: the arguments of ``KafkaApis`` in ``BrokerServer.startup``.
"""

import functools
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from ..config.server_config import ServerConfig
from ..dispatch.dispatch import Dispatcher
from ..dispatch.read_only import ReadOnlyMode
from ..metadata.image.image import ClientQuotaEntity
from .broker import Broker
from .role import Role
from .surroundings import Surroundings

if TYPE_CHECKING:
    from ..metrics.pieces import MetricsSource


def dispatcher_of(
    config: ServerConfig, broker: Broker, role: Role, surroundings: Surroundings, read_only: ReadOnlyMode | None
) -> "tuple[Dispatcher, list[MetricsSource]]":
    """The dispatcher, and the metrics of what it serves; none without ``odradek.metrics.listener``."""
    clock_ms = surroundings.clock_ms
    dispatcher = Dispatcher(broker, broker.timers.time_s, broker.config, clock_ms)
    metrics: list[MetricsSource] = []
    if config.get_string("odradek.metrics.listener"):
        metrics = [*_served_metrics(broker, dispatcher, clock_ms), *role.metrics()]
    if surroundings.intercept is not None:
        dispatcher.intercept(surroundings.intercept)
    role.route(broker, dispatcher)
    _guard(config, broker, role, dispatcher)
    broker.limit_clients = functools.partial(_limit_clients, broker, dispatcher)
    quotas = broker.metadata.image.client_quotas
    if quotas:
        broker.limit_clients(quotas, quotas)
    if read_only is not None:
        broker.own_metadata.refusal = read_only.refusal
        dispatcher.override_handlers(read_only.handlers())
    return dispatcher, metrics


def _guard(config: ServerConfig, broker: Broker, role: Role, dispatcher: Dispatcher) -> None:
    """Makes the dispatcher ask the authorizer, if the broker has one."""
    if broker.authorizer is None:
        return
    from ..security.authorization.guard import Guard  # a plain broker does not need it

    creates_topics = config.get_boolean("auto.create.topics.enable")
    dispatcher.guard(Guard(broker.authorizer, broker.metadata, creates_topics, role.ask_themselves))


def _limit_clients(
    broker: Broker,
    dispatcher: Dispatcher,
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]],
    changed: Collection[ClientQuotaEntity],
) -> None:
    """Enforces the quotas of the metadata."""
    if broker.quotas is None:
        from .quota_enforcement import QuotaEnforcement  # a broker without quotas does not need it

        broker.quotas = QuotaEnforcement(broker.config, dispatcher, broker.connections.quotas, broker.timers)
    broker.quotas.update(quotas, changed)


def _served_metrics(broker: Broker, dispatcher: Dispatcher, clock_ms: Callable[[], int]) -> "list[MetricsSource]":
    """The metrics of requests, connections, coordinators and quotas."""
    from .connection_metering import connection_metrics  # a broker without metrics needs none of these
    from .coordinator_metering import coordinator_metrics
    from .quota_metering import quota_metrics
    from .request_metering import meter_requests

    requests = meter_requests(dispatcher, broker)
    return [requests, connection_metrics(broker), coordinator_metrics(broker, clock_ms), quota_metrics(broker)]
