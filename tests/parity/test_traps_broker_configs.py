"""Edge cases of a broker's own configs: the same fixed steps on Odradek and on a real Kafka."""

from typing import Any

import pytest

from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from parity.side import Side, same
from parity.two_brokers import TwoBrokers
from support.eventually import eventually

pytestmark = pytest.mark.java

BROKER = 4
SET, DELETE = 0, 1
KERBEROS = "sasl.kerberos.min.time.before.relogin"
OTHERS = ["sasl.kerberos.kinit.cmd", "sasl.kerberos.service.name", "sasl.kerberos.ticket.renew.jitter"]


def described(side: Side, *names: str) -> list[Any]:
    """Name, value, whether it is read-only, and source of some keys of the broker."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(BROKER, "1", list(names))
    answer = side.ask(DescribeConfigsRequest([resource]), 4)
    [result] = answer["results"]
    return sorted((one["name"], one["value"], one["readOnly"], one["configSource"]) for one in result["configs"])


def changed(side: Side, name: str, value: str | None, operation: int = SET) -> int:
    """The error code of an incremental change of one key."""
    request = IncrementalAlterConfigsRequest
    change = request.AlterableConfig(name, operation, value)
    answer = side.ask(request([request.AlterConfigsResource(BROKER, "1", [change])]), 1)
    return int(answer["responses"][0]["errorCode"])


def test_keys_of_kerberos_are_stored_without_it(both: TwoBrokers) -> None:
    """librdkafka's own suite sets one."""

    def scene(side: Side) -> list[Any]:
        seen: list[Any] = [described(side, KERBEROS, *OTHERS)]
        seen.append(changed(side, KERBEROS, "58000"))
        seen.append(eventually("it is shown", lambda: [one for one in described(side, KERBEROS) if one[1] == "58000"]))
        seen.append(changed(side, KERBEROS, "soon"))
        request = AlterConfigsRequest
        resource = request.AlterConfigsResource(BROKER, "1", [request.AlterableConfig(KERBEROS, "59000")])
        seen.append(side.ask(request([resource]), 2)["responses"][0]["errorCode"])
        seen.append(eventually("it is shown", lambda: [one for one in described(side, KERBEROS) if one[1] == "59000"]))
        seen.append(changed(side, KERBEROS, None, DELETE))
        seen.append(eventually("it is shown", lambda: [one for one in described(side, KERBEROS) if one[1] == "60000"]))
        return seen

    same(both, scene)


def test_advertised_listeners_are_read_only(both: TwoBrokers) -> None:
    """kafka-python's suite looks at that. A broker that is its own controller takes a change all the same."""
    same(both, lambda side: [read_only for _, _, read_only, _ in described(side, "advertised.listeners")])
