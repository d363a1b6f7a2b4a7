"""AddPartitionsToTxn as the leader of partitions sends it to the coordinator of their transaction.

Pure. Source: KIP-890; ``AddPartitionsToTxnManager``.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, error_of
from odradek.protocol.messages.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from odradek.protocol.names.topics import TopicPartition

from .remote_markers import by_topic, of_each

AddedTransaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
AddedTopic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
Answer = Callable[[Mapping[TopicPartition, ErrorCode] | ErrorCode], None]


class MembershipQuestion(NamedTuple):
    """Partitions to add to a producer's transaction, or to check if ``verify_only``. ``done`` gets the error of each
    partition, or one error for all."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    partitions: frozenset[TopicPartition]
    done: Answer

    @property
    def key(self) -> str:
        """The transactional id, by which the response names the transaction."""
        return self.transactional_id

    def failed(self, error: ErrorCode) -> None:
        """Delivers the error, because the other broker did not answer."""
        self.done(error)


class MembershipDialect:
    """Encodes questions about several transactions as one AddPartitionsToTxn request, and takes its response apart."""

    def together(self, question: MembershipQuestion) -> None:
        """Any questions may be in one request."""

    def request(self, questions: list[MembershipQuestion]) -> AddPartitionsToTxnRequest:
        """One AddPartitionsToTxn request with an entry for each transaction."""
        return AddPartitionsToTxnRequest(
            transactions=[
                AddedTransaction(
                    question.transactional_id,
                    question.producer_id,
                    question.producer_epoch,
                    question.verify_only,
                    [AddedTopic(name, indexes) for name, indexes in by_topic(question.partitions).items()],
                )
                for question in questions
            ]
        )

    def answers(
        self, questions: list[MembershipQuestion], response: AddPartitionsToTxnResponse
    ) -> list[Callable[[], None]]:
        """Returns a callback for each question, which delivers its answer.

        An error of the whole response is the answer to every question. A partition that the response does not name gets
        UNKNOWN_SERVER_ERROR.
        """
        if response.error_code:
            error = error_of(response.error_code)
            if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                error = ErrorCode.INVALID_TXN_STATE  # as in Kafka: this broker lacks the right, not the client
            return [partial(question.done, error) for question in questions]
        found = {result.transactional_id: result for result in response.results_by_transaction}
        answers: list[Callable[[], None]] = []
        for question in questions:
            result = found.get(question.transactional_id)
            errors = {
                (topic.name, partition.partition_index): error_of(partition.partition_error_code)
                for topic in ([] if result is None else result.topic_results)
                for partition in topic.results_by_partition
            }
            answers.append(partial(question.done, of_each(question.partitions, errors)))
        return answers
