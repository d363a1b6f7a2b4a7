"""What a broker asks of its own controller, or of the controllers of its cluster.

Owns: the interfaces. :mod:`..controller` and :mod:`..quorum` implement them. Source: AutoTopicCreationManager,
ProducerIdManager, BrokerLifecycleManager.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, error_name
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse


class Requester(NamedTuple):
    """The client for which this broker asks. ``principal``: ``Type:name``. ``host``: its IP address.

    ``by_token``: it was authenticated with a delegation token.
    """

    principal: str
    host: str
    client_id: str | None = None
    by_token: bool = False


def failures(response: CreateTopicsResponse) -> dict[str, str]:
    """Returns name -> reason of the topics that could not be created. Those that exist already are left out."""
    return {
        topic.name: topic.error_message or error_name(topic.error_code)
        for topic in response.topics
        if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
    }


class TopicCreator(ABC):
    """Creates topics without a CreateTopics request: those that Metadata requests name, and internal ones."""

    @abstractmethod
    def create(
        self, names: Sequence[str], requester: Requester, now_ms: int, done: Callable[[dict[str, ErrorCode]], None]
    ) -> None:
        """Creates topics with the broker's defaults, and calls ``done`` with the outcome of each name."""

    @abstractmethod
    def create_as(
        self,
        topics: Sequence[CreateTopicsRequest.CreatableTopic],
        requester: Requester,
        now_ms: int,
        done: Callable[[dict[str, str]], None],
    ) -> None:
        """Creates topics with the settings that ``topics`` have, and calls ``done`` with name -> reason of those that
        could not be created. A topic that exists by then is left out."""

    @abstractmethod
    def ensure(self, name: str, now_ms: int, configs: Mapping[str, str] | None = None) -> None:
        """Creates a topic that the broker itself needs, if there is none. Raises KafkaError if it does not exist yet on
        return. ``configs``: of a topic that is not one of Kafka's internal ones."""


class ProducerIdSource(ABC):
    """Gives out producer ids."""

    @abstractmethod
    def next_id(self, now_ms: int) -> int:
        """A producer id that was never given out. Raises KafkaError (COORDINATOR_LOAD_IN_PROGRESS: ask again)."""


class BrokerReports(ABC):
    """Reports the state of this broker's log directories to the controller."""

    @abstractmethod
    def directory_failed(self, directory_id: bytes, now_ms: int) -> None:
        """Reports that a log directory is offline, so that its partitions get other leaders."""

    @abstractmethod
    def cordon(self, directory_ids: Sequence[bytes], now_ms: int) -> None:
        """Reports the directories that take no new partitions (``cordoned.log.dirs``, KIP-1066)."""
