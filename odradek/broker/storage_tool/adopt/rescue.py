"""Runs one adoption: locks and surveys the directories, plans, writes the metadata, serves.

Owns: the locks during survey and writing; with ``--read-only``, the overlay that keeps all writes in memory. Never
does: printing. Invariant: with ``read_only`` nothing is written to the disk, not even a lock file.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.names.topics import INTERNAL_TOPICS
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import uuid_text
from odradek.storage.files.overlay_files import OverlayFiles

from ...config.errors import ConfigError
from ...config.security import refuse_unserved_security
from ...config.server_config import ServerConfig
from ...dispatch.read_only import ReadOnlyMode
from ...network.descriptor_limit import raise_descriptor_limit
from ...server.commands import START_ERRORS, FirstActs, loop_factory, run
from ...server.logging_setup import set_up_logging
from ...server.random_ids import random_uuid
from .addition import check_configs
from .adoption import Locks, adopt
from .plan import AdoptionPlan, AdoptionRefusedError, AdoptionWishes, plan_adoption
from .survey import survey


class Rescue:
    """Adopts the log directories of one broker, which may be dead: :meth:`prepare`, then :meth:`serve`."""

    def __init__(self, paths: Sequence[Path], *, read_only: bool, refusal: str) -> None:
        """``refusal``: with ``read_only``, the error message for clients that try to write."""
        self._paths = list(paths)
        self._refusal = refusal
        overlay: Files = OverlayFiles() if read_only else Files()
        self._read_only = read_only
        self._files = overlay
        self._locks: Locks | None = None
        self._config: ServerConfig | None = None

    def _files_for(self, path: Path) -> Files:
        return self._files

    def prepare(
        self,
        wishes: AdoptionWishes,
        properties: str | None,
        settings: Sequence[str],
        environ: Mapping[str, str],
        *,
        no_serve: bool,
        show_plan: Callable[[AdoptionPlan], None],
    ) -> list[str]:
        """Surveys the directories, plans, calls ``show_plan``, writes. Returns the problems; empty if it succeeded.

        ``settings`` are configs as ``key=value``. With ``no_serve`` and ``read_only`` nothing is done after the plan.
        """
        try:
            self._locks = Locks(self._paths, read_only=self._read_only)
            found = survey(self._paths, self._files_for)
            plan = plan_adoption(
                found.directories, wishes, random_uuid, uuid_text, INTERNAL_TOPICS, found.committed_topic_ids
            )
            log_dirs = ",".join(map(str, self._paths))
            overrides = [*settings, f"log.dirs={log_dirs}", f"node.id={plan.node_id}"]
            config = ServerConfig.load(properties, overrides, environ)
            check_configs(wishes.configs, config)
            if not no_serve:
                refuse_unserved_security(config, config.protocols)
            self._config = config
            show_plan(plan)
            if self._read_only and no_serve:
                return []
            if not self._read_only:
                self._locks.release()  # adopt() opens the log directories, which takes the locks again
            adopt(
                plan,
                self._paths,
                self._config,
                self._files_for,
                next_producer_id=found.highest_producer_id + 1,
                now_ms=clock_ms(),
                random_uuid=random_uuid,
            )
            self._locks.relock()
        except AdoptionRefusedError as refused:
            return refused.problems
        except ConfigError as error:
            return [str(error)]
        except START_ERRORS as error:
            return [str(error)]
        finally:
            if self._locks is not None and (no_serve or self._config is None):
                self._locks.release()
        return []

    def serve(self, ready_file: str | None, log_level: str) -> str | None:
        """Serves until SIGTERM or SIGINT. Returns an error message, or None after a clean stop."""
        assert self._config is not None, "prepare comes first"
        assert self._locks is not None
        set_up_logging(log_level, "text")
        mode = ReadOnlyMode(self._files_for, self._refusal) if self._read_only else None
        try:
            raise_descriptor_limit()
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                return runner.run(run(self._config, FirstActs(ready_file=ready_file), None, mode))
        except START_ERRORS as error:
            return str(error)
        finally:
            self._locks.release()
