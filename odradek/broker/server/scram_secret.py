"""The secret behind the made-up SCRAM credentials of unknown users.

Shell. Owns: the file with the secret, beside meta.properties in the directory of the metadata log. Never does: making
up credentials. Invariant: the secret stays the same while the directory does. Kafka ignores the file. Source: ours.
"""

import hashlib
import hmac
import logging
import secrets

from odradek.storage.directory.log_directory import LogDirectory

logger = logging.getLogger(__name__)

SECRET_FILE = "odradek.scram.secret"
SECRET_BYTES = 32


def scram_secret(shared: str | None, directory: LogDirectory) -> bytes:
    """The secret of a broker. ``shared``: ``delegation.token.secret.key``, None if it is not set. ``directory``: of the
    metadata log."""
    if not shared:
        return secret_of(directory)
    # All brokers of a cluster have it, so they answer alike.
    return hmac.digest(shared.encode(), b"odradek: SCRAM credentials of unknown users", hashlib.sha256)


def secret_of(directory: LogDirectory) -> bytes:
    """Reads the secret of a directory, or makes one. If it can't be kept, it lasts until the broker stops."""
    path = directory.path / SECRET_FILE
    try:
        kept = directory.files.read_file(path)
    except FileNotFoundError:
        kept = b""
    except OSError as error:
        logger.warning("%s can't be read: the salts of unknown users change: %s", path, error)
        return secrets.token_bytes(SECRET_BYTES)
    if len(kept) == SECRET_BYTES:
        return kept
    made = secrets.token_bytes(SECRET_BYTES)
    try:
        directory.files.write_file(path, made)
    except OSError as error:
        logger.warning("%s can't be written: the salts of unknown users change with each start: %s", path, error)
    return made
