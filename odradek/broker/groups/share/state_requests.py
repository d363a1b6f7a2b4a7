"""Asks the persister to begin or to delete the state of many share partitions, and notes the outcome in the group.

Shell. Owns: the answers so far. Never does: deciding. Invariants: one turn of the event loop asks for KEYS_A_TURN share
partitions at most; a group has one request at a time (:mod:`.state_turns`). Source: ``GroupCoordinatorService``,
persisterInitialize, deleteShareGroup, handleDeleteShareGroupOffsetStateResult.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

from ...share_state.persister import Done, Persister
from ...timers.timers import Timers
from ..effects import GroupEffects
from .group import ShareGroups
from .state_topics import Initialization, note_failed, note_initialized
from .state_turns import StateTurns

logger = logging.getLogger(__name__)

KEYS_A_TURN = 32
Errors = dict[SharePartitionKey, ErrorCode]
"""The error of each share partition that failed."""
Ask = Callable[[SharePartitionKey, Done], None]


class StateCoordinator(Protocol):
    """The coordinator of groups, as far as it is needed here."""

    @property
    def timers(self) -> Timers:
        """The timers of the broker."""

    @property
    def state_turns(self) -> StateTurns:
        """The order of the requests of each group."""

    def change_share_groups(self, group_id: str, change: Callable[[ShareGroups, GroupEffects], None]) -> None:
        """Makes a change that no client waits for, in the shard of a group."""


def initialize(persister: Persister, coordinator: StateCoordinator, wanted: Initialization) -> None:
    """Begins the state of share partitions. Notes all of them as initialized; or, if one failed, as not asked for."""

    def ask(key: SharePartitionKey, answered: Done) -> None:
        persister.initialize(key, wanted.state_epoch, wanted.start_offsets[key], answered)

    def finish(errors: Errors) -> None:
        if errors:
            _log(wanted.group_id, "initialize", errors)
        coordinator.change_share_groups(wanted.group_id, partial(_note_failed if errors else _note_initialized, wanted))

    _ask_of_all(coordinator, wanted.group_id, list(wanted.start_offsets), ask, finish)


def alter(
    persister: Persister, coordinator: StateCoordinator, wanted: Initialization, done: Callable[[Errors], None]
) -> None:
    """Sets the start offsets of share partitions, then calls ``done``. If one failed, all of them stay initializing: a
    member that joins asks again."""

    def ask(key: SharePartitionKey, answered: Done) -> None:
        persister.initialize(key, wanted.state_epoch, wanted.start_offsets[key], answered)

    def finish(errors: Errors) -> None:
        if errors:
            _log(wanted.group_id, "alter", errors)
        elif wanted.start_offsets:
            coordinator.change_share_groups(wanted.group_id, partial(_note_initialized, wanted))
        done(errors)

    _ask_of_all(coordinator, wanted.group_id, list(wanted.start_offsets), ask, finish)


def delete(
    persister: Persister,
    coordinator: StateCoordinator,
    group_id: str,
    keys: Sequence[SharePartitionKey],
    done: Callable[[Errors], None],
) -> None:
    """Deletes the state of share partitions, then calls ``done``."""

    def finish(errors: Errors) -> None:
        if errors:
            _log(group_id, "delete", errors)
        done(errors)

    _ask_of_all(coordinator, group_id, keys, persister.delete, finish)


def _ask_of_all(
    coordinator: StateCoordinator,
    group_id: str,
    keys: Sequence[SharePartitionKey],
    ask: Ask,
    finish: Callable[[Errors], None],
) -> None:
    """Asks for each share partition when it is this request's turn. Then calls ``finish`` once, when all answers are
    there."""
    errors: Errors = {}
    missing = len(keys)

    def answered(key: SharePartitionKey, error: ErrorCode) -> None:
        nonlocal missing
        missing -= 1
        if error:
            errors[key] = error
        if not missing:
            end()

    def end() -> None:
        finish(errors)
        coordinator.state_turns.end(group_id)

    def ask_some(start: int) -> None:
        next_start = start + KEYS_A_TURN
        if next_start < len(keys):
            coordinator.timers.schedule(0, partial(ask_some, next_start))
        for key in keys[start:next_start]:
            ask(key, partial(answered, key))

    def begin(error: ErrorCode) -> None:
        if error:
            errors.update(dict.fromkeys(keys, error))
        if error or not keys:
            end()
        else:
            ask_some(0)

    coordinator.state_turns.take(group_id, begin)


def _note_initialized(wanted: Initialization, groups: ShareGroups, effects: GroupEffects) -> None:
    note_initialized(groups, wanted, effects)


def _note_failed(wanted: Initialization, groups: ShareGroups, effects: GroupEffects) -> None:
    note_failed(groups, wanted.group_id, wanted.partitions, effects)


def _log(group_id: str, what: str, errors: Mapping[SharePartitionKey, ErrorCode]) -> None:
    key, error = next(iter(errors.items()))
    logger.error(
        "group %r: could not %s the state of %d share partitions, such as %s: %s",
        group_id,
        what,
        len(errors),
        key.coordinator_key,
        error.name,
    )
