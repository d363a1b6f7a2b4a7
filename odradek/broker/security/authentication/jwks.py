"""Reads the public keys of an identity provider (JWKS) from a file or a URL, and refreshes them.

Shell. Owns: the keys, the thread that fetches them. Never does: checking tokens; waiting for the network on the event
loop of a running broker. Invariants: fetched keys stay in use until newer ones are fetched; the broker does not start
if it can't read keys; tokens with unknown key ids cause at most one early fetch in ``EARLY_MS``; at most ``MAX_BYTES``
are read. Source: ``RefreshingHttpsJwks``, ``JwksFileVerificationKeyResolver``, ``Retry``; KIP-768.
"""

import http.client
import logging
import threading
import time
import urllib.request
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn
from urllib.error import URLError
from urllib.parse import unquote, urlsplit

from ...config.errors import ConfigError
from ...config.oauthbearer import URL_KEY, JwksSettings
from ...timers.work import KindOfWork
from .signed_tokens import JwksError, VerificationKey, parse_jwks

FETCHES = KindOfWork("jwks", "fetches the public keys of an identity provider")

logger = logging.getLogger(__name__)

MAX_BYTES = 1 << 20
TIMEOUT_S = 10.0
EARLY_MS = 10_000
"""The shortest time between two fetches because of unknown key ids. Kafka waits 60 s for each of the 16 latest ids."""

Keys = Sequence[VerificationKey]


class FileKeys:
    """The keys in a file, which is read again after it changed. If it can't be used, the earlier keys stay."""

    def __init__(self, path: Path) -> None:
        """Reads the file. Raises OSError, JwksError or UnicodeDecodeError."""
        self._path = path
        self._stamp = self._stamp_now()
        self._keys = _parsed(path)
        self._problem = ""
        """The last problem that was logged."""

    def current(self) -> Keys:
        """The keys. Checks the file's time, size and inode, and reads it again after a change."""
        try:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._stamp = stamp
                self._keys = _parsed(self._path)
                self._problem = ""
                logger.info("%s: read %d keys", self._path, len(self._keys))
        except (OSError, JwksError, UnicodeDecodeError) as problem:
            if str(problem) != self._problem:
                self._problem = str(problem)
                logger.warning("%s can't be read again, so the earlier keys stay in use: %s", self._path, problem)
        return self._keys

    def _stamp_now(self) -> tuple[int, int, int]:
        status = self._path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def missing(self) -> None:
        """Called for a token with an unknown key id. Does nothing, as :meth:`current` has read the latest file."""


class FetchedKeys:
    """The keys at a URL, which a thread fetches repeatedly, until the broker that uses them is gone."""

    def __init__(
        self, settings: JwksSettings, fetch: Callable[[str], str], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Fetches for the first time. ``fetch`` returns the text of a URL. Raises OSError or JwksError."""
        self._settings = settings
        self._fetch = fetch
        self._now_s = now_s
        self._keys: Keys = parse_jwks(fetch(settings.url))
        self._wanted = threading.Event()
        self._early_after_s = now_s() + EARLY_MS / 1000
        self._closed = threading.Event()
        run = partial(_refresh_repeatedly, weakref.ref(self), self._wanted, self._closed, settings.refresh_ms / 1000)
        FETCHES.own_thread(run, "jwks")
        self._end = weakref.finalize(self, _end, self._wanted, self._closed)

    def current(self) -> Keys:
        """The keys of the latest fetch."""
        return self._keys

    def missing(self) -> None:
        """Called for a token with an unknown key id. Fetches now, but at most once in :data:`EARLY_MS`."""
        if self._now_s() >= self._early_after_s:
            self._early_after_s = self._now_s() + EARLY_MS / 1000
            self._wanted.set()

    def close(self) -> None:
        """Ends the thread, after the current fetch if there is one."""
        self._end()

    def refresh(self) -> None:
        """Fetches the keys. Retries for at most ``retry_backoff_max_ms``, with pauses that double."""
        settings = self._settings
        until_s = self._now_s() + settings.retry_backoff_max_ms / 1000
        pause_s = settings.retry_backoff_ms / 1000
        while not self._closed.is_set():
            try:
                self._keys = parse_jwks(self._fetch(settings.url))
            except (OSError, http.client.HTTPException, JwksError, UnicodeDecodeError) as problem:
                if self._now_s() + pause_s > until_s or not pause_s:
                    logger.warning("%s can't be fetched, so the earlier keys stay in use: %s", settings.url, problem)
                    return
            else:
                logger.info("%s: fetched %d keys", settings.url, len(self._keys))
                return
            if self._wanted.wait(pause_s) and self._closed.is_set():
                return
            pause_s *= 2


def _refresh_repeatedly(
    keys: "weakref.ref[FetchedKeys]", wanted: threading.Event, closed: threading.Event, every_s: float
) -> None:
    """The thread of fetched keys. It does not keep them alive."""
    while True:
        wanted.wait(every_s)
        wanted.clear()
        fetched = keys()
        if fetched is None or closed.is_set():
            return
        FETCHES.call(fetched.refresh)
        del fetched


def _end(wanted: threading.Event, closed: threading.Event) -> None:
    closed.set()
    wanted.set()


def open_keys(settings: JwksSettings) -> FileKeys | FetchedKeys:
    """Opens the keys at the configured URL. Raises ConfigError if they can't be read now."""
    try:
        if urlsplit(settings.url).scheme.lower() == "file":
            return FileKeys(Path(unquote(urlsplit(settings.url).path)))
        return FetchedKeys(settings, fetch)
    except (OSError, http.client.HTTPException, JwksError, UnicodeDecodeError) as problem:
        _refuse(settings.url, problem)


def _refuse(url: str, problem: Exception) -> NoReturn:
    reason = problem.reason if isinstance(problem, URLError) else problem
    raise ConfigError([f"{URL_KEY}: the keys of {url} can't be read: {reason}"]) from problem


def _parsed(path: Path) -> Keys:
    with path.open("rb") as file:
        return parse_jwks(_text(file.read(MAX_BYTES + 1)))


def fetch(url: str) -> str:
    """The text at an http or https URL. Raises OSError, HTTPException, JwksError or UnicodeDecodeError."""
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        data: bytes = answer.read(MAX_BYTES + 1)
    return _text(data)


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise JwksError(f"the JWKS is larger than {MAX_BYTES} bytes")
    return data.decode("utf-8")
