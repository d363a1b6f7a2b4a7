"""A consumer's commits (synchronous, asynchronous, automatic), one after the other.

Owns: their order (an older commit never overtakes a newer one), the time of the next automatic commit. Never does:
positions. Source: ``consumer.internals.ConsumerCoordinator`` (commitOffsetsSync, commitOffsetsAsync,
maybeAutoCommitOffsetsAsync), ``CommitRequestManager`` for member epochs.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from odradek.protocol.errors import ErrorCode, KafkaError

from ..cluster.cluster import Cluster
from ..cluster.coordinator import CoordinatorConnection
from ..errors import AuthenticationError, ClientError, RetriableCommitError
from ..types import Identity, OffsetAndMetadata, TopicPartition
from .committed_offsets import commit_offsets
from .membership import Membership

logger = logging.getLogger(__name__)
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitCallback = Callable[[Offsets, Exception | None], None]
"""Called after an asynchronous commit, with its offsets and its error (None if it succeeded)."""


class OffsetCommits:
    """Commits of one consumer to one group."""

    def __init__(
        self,
        cluster: Cluster,
        coordinator: CoordinatorConnection,
        group_id: str,
        membership: Membership,
        *,
        timeout_ms: float,
        interval_ms: float | None,
    ) -> None:
        """``interval_ms`` is ``auto_commit_interval_ms``; None disables automatic commits."""
        self._cluster = cluster
        self._coordinator = coordinator
        self._group_id = group_id
        self._membership = membership
        self._timeout_ms = timeout_ms
        self._interval_s = None if interval_ms is None else interval_ms / 1000
        self._next_automatic = 0.0 if interval_ms is None else asyncio.get_running_loop().time() + interval_ms / 1000
        self._last: asyncio.Future[None] | None = None
        """Becomes done when the newest requested commit is over."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._automatic: asyncio.Task[None] | None = None

    async def commit(self, offsets: Offsets) -> None:
        """Commits, after all commits requested earlier are over. Raises KafkaError, ClientError."""
        turn = self._next_turn()
        try:
            await turn.come()
            if offsets:
                await self._send(offsets, self._timeout_ms)
        finally:
            turn.over()

    def commit_async(self, offsets: Offsets, callback: CommitCallback | None) -> "asyncio.Task[None]":
        """Commits in the background, without retries.

        The returned task raises the error; without a callback the error is logged too. A retriable error is a
        RetriableCommitError.
        """
        turn = self._next_turn()
        task = asyncio.ensure_future(self._commit_once(dict(offsets), turn, callback))
        self._tasks.add(task)

        def done(_: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            turn.over()
            if not task.cancelled():
                task.exception()  # marks it as retrieved, because a user with a callback may never read the task

        task.add_done_callback(done)
        return task

    async def _commit_once(self, offsets: Offsets, turn: "_Turn", callback: CommitCallback | None) -> None:
        failure: KafkaError | ClientError | None = None
        await turn.come()
        try:
            if offsets:
                await self._send(offsets, 0)
        except KafkaError as error:
            retriable = error.error_code.retriable and error.error_code != ErrorCode.REBALANCE_IN_PROGRESS
            failure = RetriableCommitError(f"the commit failed and can be retried: {error}") if retriable else error
        except AuthenticationError as error:
            failure = error
        except ClientError as error:
            failure = RetriableCommitError(f"the commit failed and can be retried: {error}")
        if callback is not None:
            callback(offsets, failure)
        elif failure is not None:
            logger.error("asynchronous commit of group '%s' failed: %s", self._group_id, failure)
        if failure is not None:
            raise failure

    def _next_turn(self) -> "_Turn":
        """A turn after all commits that were requested earlier."""
        turn = _Turn(self._last)
        self._last = turn.done
        return turn

    async def _send(self, offsets: Offsets, timeout_ms: float) -> None:
        sent = self._membership.identity

        def identity() -> Identity:
            nonlocal sent
            sent = self._membership.identity  # a retry sends the member's newest epoch
            return sent

        try:
            await commit_offsets(
                self._cluster, self._coordinator, self._group_id, offsets, identity=identity, timeout_ms=timeout_ms
            )
        except KafkaError as error:
            self._membership.commit_refused(sent, error)
            raise

    # Automatic commits

    @property
    def next_automatic(self) -> float | None:
        """The loop time (s) of the next automatic commit; None if they are off, or while one is running."""
        return None if self._interval_s is None or self._automatic is not None else self._next_automatic

    def commit_if_due(self, consumed: Callable[[], Offsets]) -> None:
        """Starts an automatic commit if ``auto_commit_interval_ms`` is over.

        ``poll`` calls it before it returns new records: by then the user has processed the earlier ones.
        """
        if self._interval_s is None:
            return
        now = asyncio.get_running_loop().time()
        if now < self._next_automatic or self._automatic is not None:
            return
        self._next_automatic = now + self._interval_s
        offsets = consumed()
        if offsets:
            self._automatic = self.commit_async(offsets, self._committed_automatically)

    def _committed_automatically(self, _offsets: Offsets, failure: Exception | None) -> None:
        self._automatic = None
        if isinstance(failure, RetriableCommitError):
            self._next_automatic = asyncio.get_running_loop().time() + self._cluster.backoff_s(0)
        elif failure is not None:
            logger.warning("automatic commit failed, records may be read again: %s", failure)

    async def commit_before_handover(self, consumed: Callable[[], Offsets]) -> None:
        """The automatic commit before partitions are revoked. Errors are only logged: the revocation cannot wait."""
        if self._interval_s is None:
            return
        try:
            await self.commit(consumed())
        except (KafkaError, ClientError) as error:
            logger.warning("automatic commit failed, records may be read again: %s", error)

    async def idle(self) -> None:
        """Waits until all asynchronous commits are over."""
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _Turn:
    """A commit's place in the queue. It is taken when the commit is requested, before its task starts to run."""

    def __init__(self, before: "asyncio.Future[None] | None") -> None:
        self._before = before
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def come(self) -> None:
        """Waits until all earlier commits are over."""
        if self._before is not None and not self._before.done():
            await asyncio.shield(self._before)

    def over(self) -> None:
        """Lets the next commit run. If this one was cancelled while it waited, only after the one before it is over."""
        if self.done.done():
            return
        if self._before is None or self._before.done():
            self.done.set_result(None)
            self._before = None
        else:
            self._before.add_done_callback(lambda _: self.over())
