"""A Celery application with one task. Variables: BROKER (the URL), RESULTS (a directory)."""

import os

from celery import Celery

application = Celery("celery_sums", broker=os.environ["BROKER"], backend=f"file://{os.environ['RESULTS']}")
application.conf.update(
    task_default_queue="sums",
    broker_transport_options={"wait_time_seconds": 0.2},
    worker_enable_remote_control=False,  # kombu's Kafka transport has no fanout
)


@application.task  # type: ignore[untyped-decorator]
def add(left: int, right: int) -> int:
    """The sum."""
    return left + right
