"""Topics that this broker wants, created by the controllers. Source: AutoTopicCreationManager.

Owns: which names have been asked for and are not answered. Invariant: one name is asked for once at a time.
"""

import logging
from collections.abc import Callable, Sequence

from ...protocol.codec import decode
from ...protocol.codec.header import encode_request, response_header_version
from ...protocol.errors import ErrorCode, KafkaError, ProtocolError
from ...protocol.messages.headers import ResponseHeader
from ...protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from ..config.server_config import ServerConfig
from ..controller.registration import auto_created
from ..metadata.controller_link import TopicCreator
from ..metadata.published import PublishedMetadata
from .forwarding import Forwarding

logger = logging.getLogger(__name__)

VERSION = 7
TIMEOUT_MS = 30_000
LOCAL_HOST = "127.0.0.1"


class ForwardedTopicCreation(TopicCreator):
    """Asks the controllers for topics; clients ask again until they are there."""

    def __init__(self, metadata: PublishedMetadata, config: ServerConfig, forwarding: Forwarding) -> None:
        self._metadata = metadata
        self._config = config
        self._forwarding = forwarding
        self._asked: set[str] = set()

    def create(self, names: Sequence[str], now_ms: int, done: Callable[[dict[str, ErrorCode]], None]) -> None:
        """As Kafka's brokers: every name is answered at once with UNKNOWN_TOPIC_OR_PARTITION, which clients retry."""
        self._ask(names)
        done(dict.fromkeys(names, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    def ensure(self, name: str, now_ms: int) -> None:
        """Raises KafkaError COORDINATOR_NOT_AVAILABLE until the topic is there: clients ask again."""
        if name not in self._metadata.image.topics_by_name:
            self._ask([name])
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} is being created")

    def _ask(self, names: Sequence[str]) -> None:
        missing = [name for name in names if name not in self._asked]
        if not missing:
            return
        self._asked.update(missing)
        request = CreateTopicsRequest([auto_created(name, self._config) for name in missing], TIMEOUT_MS)
        frame = encode_request(request, VERSION, 0, f"broker-{self._metadata.node_id}-topics")[4:]

        def answered(response: bytes | KafkaError) -> None:
            self._asked.difference_update(missing)
            if isinstance(response, KafkaError):
                logger.warning("topics could not be created (%s): %s", ", ".join(missing), response.message)
                return
            for topic in _topics(response):
                if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    logger.warning("could not create topic %r: %r", topic.name, topic.error_message)

        self._forwarding.forward(frame, LOCAL_HOST, answered)


def _topics(response: bytes) -> list[CreateTopicsResponse.CreatableTopicResult]:
    """What became of each topic, from a response's header and body."""
    try:
        _, position = decode(ResponseHeader, response_header_version(CreateTopicsRequest.API_KEY, VERSION), response)
        return decode(CreateTopicsResponse, VERSION, response, position)[0].topics
    except ProtocolError as error:
        logger.warning("the controllers' answer to CreateTopics can't be read: %s", error)
        return []
