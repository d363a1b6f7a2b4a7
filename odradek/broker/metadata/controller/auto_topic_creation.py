"""Topics that the broker creates automatically: those that a Metadata request names, and Kafka's internal topics.

Shell. Owns: the result for each name. Never does: writing records itself. Source: AutoTopicCreationManager.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError, error_of
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse

from ..publisher.controller_link import Requester, TopicCreator, failures
from ..publisher.decision import Decision
from ..publisher.service import MetadataService
from .controller import Controller
from .registration import auto_created
from .topics import create_topics

logger = logging.getLogger(__name__)


class AutoTopicCreation(TopicCreator):
    """Creates topics with the broker's defaults, and internal topics as Kafka configures them."""

    def __init__(self, metadata: MetadataService, controller: Controller) -> None:
        self._metadata = metadata
        self._controller = controller

    def create(
        self, names: Sequence[str], requester: Requester, now_ms: int, done: Callable[[dict[str, ErrorCode]], None]
    ) -> None:
        """Creates topics after the metadata changes before this one, and calls ``done`` with the result for each name.

        It is not an error if another request has created the topic by then.
        """

        def answer(response: CreateTopicsResponse | KafkaError) -> None:
            if isinstance(response, KafkaError):
                done(dict.fromkeys(names, response.error_code))
                return
            outcomes = dict.fromkeys(names, ErrorCode.NONE)
            for topic in response.topics:
                outcomes[topic.name] = error_of(topic.error_code)
                if topic.error_code:
                    logger.warning("could not create topic %r: %r", topic.name, topic.error_message)
            done(outcomes)

        self._metadata.change(partial(self._decide, names), now_ms, answer)

    def create_as(
        self,
        topics: Sequence[CreateTopicsRequest.CreatableTopic],
        requester: Requester,
        now_ms: int,
        done: Callable[[dict[str, str]], None],
    ) -> None:
        """Creates topics with their own settings, after the metadata changes before this one."""

        def answer(response: CreateTopicsResponse | KafkaError) -> None:
            if isinstance(response, KafkaError):
                done(dict.fromkeys((topic.name for topic in topics), response.message))
            else:
                done(failures(response))

        self._metadata.change(partial(self._decide_as, topics), now_ms, answer)

    def ensure(self, name: str, now_ms: int, configs: Mapping[str, str] | None = None) -> None:
        """Creates an internal topic (``__consumer_offsets``) at once if it does not exist. Raises KafkaError.

        Such a topic has few partitions and no files at first, so it is created in one step. While another metadata
        change is in progress, the error is COORDINATOR_NOT_AVAILABLE, after which clients retry.
        """
        metadata = self._metadata
        if name in metadata.image.topics_by_name:
            return
        if metadata.turns.is_acquired:
            reason = f"{name} can't be created now: another metadata change is in progress"
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        decision = run_to_end(self._decide([name], configs))
        run_to_end(metadata.carry_out(decision, now_ms))
        for topic in decision.response.topics:
            if topic.error_code:
                logger.warning("could not create topic %r: %r", topic.name, topic.error_message)
                raise KafkaError(error_of(topic.error_code), f"could not create {name}")

    def _decide(
        self, names: Sequence[str], configs: Mapping[str, str] | None = None
    ) -> Steps[Decision[CreateTopicsResponse]]:
        return (yield from self._decide_as([auto_created(name, self._controller.config, configs) for name in names]))

    def _decide_as(self, topics: Sequence[CreateTopicsRequest.CreatableTopic]) -> Steps[Decision[CreateTopicsResponse]]:
        image = self._metadata.image
        request = CreateTopicsRequest([topic for topic in topics if topic.name not in image.topics_by_name])
        return (yield from create_topics(image, request, self._controller, with_configs=False))
