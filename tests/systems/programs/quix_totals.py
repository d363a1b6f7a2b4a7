"""A program of Quix Streams: the sum of each key's readings, exactly once. Arguments: servers, state directory, count.

It ends after ``count`` readings. The sums are in a store that is restored from a changelog topic.
"""

import sys
from typing import Any

from quixstreams import Application

servers, state_directory, count = sys.argv[1:]
application = Application(
    broker_address=servers,
    consumer_group="totals",
    auto_offset_reset="earliest",
    processing_guarantee="exactly-once",
    commit_interval=0.2,
    state_dir=state_directory,
)


def add(reading: Any, state: Any) -> dict[str, int]:
    """Adds a reading to the sum."""
    total = state.get("total", 0) + reading["value"]
    state.set("total", total)
    return {"total": total}


readings = application.topic("readings", key_deserializer="str", value_deserializer="json")
totals = application.topic("totals", key_serializer="str", value_serializer="json")
application.dataframe(readings).apply(add, stateful=True).to_topic(totals)
application.run(count=int(count), timeout=300)
