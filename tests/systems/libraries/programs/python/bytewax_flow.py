"""bytewax: flows of a Kafka source and a Kafka sink. Its sources belong to no group.

The arguments are those of ``scenario.py``.
"""

import sys
from collections.abc import Callable
from typing import Any

from bytewax import operators
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSource, run_main


def produce(servers: str, topic: str, *values: str) -> None:
    flow = Dataflow("produce")
    messages = [KafkaSinkMessage(value.encode(), value.encode()) for value in values]
    operators.output("out", operators.input("in", flow, TestingSource(messages)), KafkaSink([servers], topic))
    run_main(flow)


def read(servers: str, topic: str, count: str) -> None:
    flow = Dataflow("read")
    stream = operators.input("in", flow, KafkaSource([servers], [topic], tail=False))
    values: list[str] = []

    def keep(message: Any) -> Any:
        values.append(message.value.decode())
        return message

    operators.inspect("seen", operators.map("keep", stream, keep), lambda _step, _message: None)
    run_main(flow)
    assert len(values) == int(count), values
    print("".join(f"read {value}\n" for value in values))


VERBS: dict[str, Callable[..., None]] = {"produce": produce, "read": read}
VERBS[sys.argv[1]](*sys.argv[2:])
