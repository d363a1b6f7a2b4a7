"""Without the extra ``security`` TLS works with PEM files; only PKCS#12 stores ask for the package cryptography."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.testing.security.certificates import CertificateAuthority

HIDDEN = "import sys; sys.modules['cryptography'] = None"
"""An import of the package fails, as if it was not installed."""
READ = """
import sys
from odradek.protocol.security.key_stores import StoreError, key_entry, read_file
try:
    print(len(key_entry(read_file(sys.argv[1]), sys.argv[2] or None, sys.argv[2] or None).chain))
except StoreError as error:
    print(error)
"""
"""Prints the number of certificates beside the key of a store, or the reason why it can't be read."""
USERS_OF_TLS = (
    "odradek.broker.security.tls.listener",
    "odradek.client.security.tls",
    "odradek.client.commands.doctor.cluster_checks",
    "odradek.console.server.run",
)


def run(program: str, *arguments: str | Path) -> str:
    """The output of a program without the package."""
    command = [sys.executable, "-c", f"{HIDDEN}\n{program}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("module", USERS_OF_TLS)
def test_what_has_tls_can_be_used(module: str) -> None:
    run(f"import {module} as module\ndir(module)")


def test_pem_files_are_read_and_a_pkcs12_store_names_the_package(tmp_path: Path) -> None:
    broker = CertificateAuthority().issue("broker", ["localhost"])
    assert run(READ, broker.write_pem(tmp_path / "broker.pem"), "") == "1\n"
    assert "pip install cryptography" in run(READ, broker.write_pkcs12(tmp_path / "broker.p12", "secret"), "secret")
