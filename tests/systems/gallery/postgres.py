"""A PostgreSQL of Debian for a test, with logical decoding, on a port of 127.0.0.1."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from support.brokers.free_ports import free_port
from support.debian import program_or_skip

SYSTEM_USER = "postgres"
"""The user of Debian's package. The server refuses to run as root."""


class Postgres:
    """The server, during a block; its directory is removed after it. Skips the test if it can't be had."""

    def __init__(self) -> None:
        self.port = free_port()
        program_or_skip("psql", "postgresql", is_complete=any(Path("/usr/lib/postgresql").glob("*/bin/initdb")))
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
        self._directory = Path(
            tempfile.mkdtemp(prefix="odradek-postgres-")
        )  # pytest's own can only be read by its user
        self._data = self._directory / "data"

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            shutil.chown(self._directory, SYSTEM_USER)
        self._run("initdb", "-D", self._data, "-U", SYSTEM_USER, "-A", "trust", "--no-sync", "-E", "UTF8")
        keys = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c wal_level=logical -c fsync=off"
        options = f"{keys} -c unix_socket_directories={self._directory}"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._directory / "log", "-o", options, "start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self._directory)

    def sql(self, statements: str) -> str:
        """Runs statements; returns the rows as text."""
        at = ["-h", "127.0.0.1", "-p", str(self.port), "-U", SYSTEM_USER]
        return self._run("psql", *at, "-qAt", "-v", "ON_ERROR_STOP=1", "-c", statements)

    def _run(self, program: str, *arguments: str | Path) -> str:
        user = SYSTEM_USER if os.geteuid() == 0 else None
        command = [str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            cwd=self._directory,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr or ''}"
        return done.stdout or ""
