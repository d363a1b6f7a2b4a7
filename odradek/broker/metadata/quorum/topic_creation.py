"""Asks the controllers to create topics that this broker or its clients need. Source: AutoTopicCreationManager.

Owns: the names that are asked for and not answered yet. Invariants: a name is asked for only once at a time; a topic
that a client names is created with the rights of the client, an internal one with those of this broker.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_body_position
from odradek.protocol.errors import ErrorCode, KafkaError, ProtocolError, error_name
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse

from ...config.server_config import ServerConfig
from ..controller.registration import auto_created
from ..publisher.controller_link import Requester, TopicCreator, failures
from ..publisher.published import PublishedMetadata
from .forwarding import Forwarding

logger = logging.getLogger(__name__)

VERSION = 7
TIMEOUT_MS = 30_000

Answered = Callable[[CreateTopicsResponse | KafkaError], None]


class ForwardedTopicCreation(TopicCreator):
    """Asks the controllers for topics; clients ask again until they are there."""

    def __init__(self, metadata: PublishedMetadata, config: ServerConfig, forwarding: Forwarding) -> None:
        self._metadata = metadata
        self._config = config
        self._forwarding = forwarding
        self._asked: set[str] = set()

    def create(
        self, names: Sequence[str], requester: Requester, now_ms: int, done: Callable[[dict[str, ErrorCode]], None]
    ) -> None:
        """Asks for topics. As in Kafka, every name is answered at once with UNKNOWN_TOPIC_OR_PARTITION, which clients
        retry."""
        missing = self._begin(names)
        if missing:
            self._pass_on(self._request(missing), requester, partial(self._answered, missing))
        done(dict.fromkeys(names, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    def create_as(
        self,
        topics: Sequence[CreateTopicsRequest.CreatableTopic],
        requester: Requester,
        now_ms: int,
        done: Callable[[dict[str, str]], None],
    ) -> None:
        """Asks for topics with their own settings. Those that are asked for already are left out."""
        missing = self._begin([topic.name for topic in topics])
        request = CreateTopicsRequest([topic for topic in topics if topic.name in missing], TIMEOUT_MS)

        def answered(answer: CreateTopicsResponse | KafkaError) -> None:
            self._answered(missing, answer)
            done(dict.fromkeys(missing, answer.message) if isinstance(answer, KafkaError) else failures(answer))

        if missing:
            self._pass_on(request, requester, answered)
        else:
            done({})

    def ensure(self, name: str, now_ms: int, configs: Mapping[str, str] | None = None) -> None:
        """Asks for a missing internal topic. Raises KafkaError COORDINATOR_NOT_AVAILABLE until it exists: clients
        retry."""
        if name not in self._metadata.image.topics_by_name:
            missing = self._begin([name])
            if missing:
                self._forwarding.create_topics(self._request(missing, configs), partial(self._answered, missing))
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} is being created")

    def _begin(self, names: Sequence[str]) -> list[str]:
        """Returns the names that are not asked for yet, and marks them as asked for."""
        missing = [name for name in names if name not in self._asked]
        self._asked.update(missing)
        return missing

    def _request(self, names: Sequence[str], configs: Mapping[str, str] | None = None) -> CreateTopicsRequest:
        return CreateTopicsRequest([auto_created(name, self._config, configs) for name in names], TIMEOUT_MS)

    def _pass_on(self, request: CreateTopicsRequest, requester: Requester, answered: Answered) -> None:
        """Forwards a request with the rights of a client."""

        def passed_on(answer: bytes | KafkaError) -> None:
            """Takes a response's header and body."""
            if isinstance(answer, KafkaError):
                answered(answer)
                return
            try:
                position = response_body_position(CreateTopicsRequest.API_KEY, VERSION, answer)
                response = decode(CreateTopicsResponse, VERSION, answer, position)[0]
            except ProtocolError as error:
                answered(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the answer can't be read: {error}"))
            else:
                answered(response)

        frame = encode_request(request, VERSION, 0, requester.client_id)[4:]
        self._forwarding.forward(frame, requester, passed_on)

    def _answered(self, names: Sequence[str], answer: CreateTopicsResponse | KafkaError) -> None:
        self._asked.difference_update(names)
        if isinstance(answer, KafkaError):
            logger.warning("topics could not be created (%s): %s", ", ".join(names), answer.message)
            return
        for topic in answer.topics:
            if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                error = error_name(topic.error_code)
                logger.warning("could not create topic %r: %s, %r", topic.name, error, topic.error_message)
