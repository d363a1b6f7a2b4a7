"""The base image for the tests: the official one if a registry answers, otherwise one made of Debian's packages.

Both get this machine's certificates and pip settings, so that a build behind a mirror or a proxy finds its packages.
Images on this base are for the tests only and are never published.
"""

import os
import shutil
import subprocess
from pathlib import Path

from support.docker.engine import Engine, EngineMissingError, install
from support.kafka.java import cache_directory

OFFICIAL = "python:3.11-slim-bookworm"
TAG = "odradek-test-base"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PULL_TIMEOUT_S = 60
WITHOUT_COMPILED_FILES = "RUN find /usr/lib/python3* /usr/local/lib -name '*.pyc' -delete"
"""The official image has no compiled files of Python's standard library either."""
LEFT_OUT = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")


def base_image(engine: Engine) -> str:
    """The tag of the base image, which is built if it is missing. Raises EngineMissingError."""
    if not _pull(engine):
        path = "PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        changes = ("--change", f"ENV {path}", "--change", "ENV LANG=C.UTF-8")
        engine.run("import", *changes, str(_root_file_system(engine.directory)), f"{TAG}-plain")
        _add_settings(engine, f"{TAG}-plain", WITHOUT_COMPILED_FILES)
    else:
        _add_settings(engine, OFFICIAL)
    return TAG


def _pull(engine: Engine) -> bool:
    try:
        present = engine.attempt("image", "inspect", OFFICIAL).returncode == 0
        return present or engine.attempt("pull", "--quiet", OFFICIAL, timeout_s=PULL_TIMEOUT_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _root_file_system(scratch: Path) -> Path:
    """A tar file of Debian with Python 3.11, and a /usr/local/bin/python as in the official image. It is made once."""
    tar = cache_directory() / "base-bookworm-apt.tar"
    if tar.exists():
        return tar
    if os.geteuid() != 0:
        raise EngineMissingError("no registry answers, and only root can make the base image")
    if shutil.which("mmdebstrap") is None:
        install("mmdebstrap")
    root = scratch / "base"
    command = ["mmdebstrap", "--mode=root", "--variant=apt", "--include=ca-certificates,python3,python3-venv"]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    command += ["--dpkgopt=force-unsafe-io", "bookworm", str(root)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise EngineMissingError(f"mmdebstrap: {result.stderr[-800:]}")
    subprocess.run(
        ["chroot", str(root), "/usr/bin/python3", "-m", "venv", "--system-site-packages", "/usr/local"], check=True
    )
    tar.parent.mkdir(parents=True, exist_ok=True)
    unfinished = tar.with_suffix(f".{os.getpid()}")
    subprocess.run(
        ["tar", "-C", str(root), "--exclude=./dev/*", "--one-file-system", "-cf", str(unfinished), "."], check=True
    )
    unfinished.replace(tar)
    shutil.rmtree(root)
    return tar


def _add_settings(engine: Engine, image: str, *more: str) -> None:
    context = engine.directory / "settings"
    context.mkdir()
    candidates = (os.environ.get("PIP_CERT"), os.environ.get("SSL_CERT_FILE"), CERTIFICATES)
    certificates = next((name for name in candidates if name and Path(name).is_file()), None)
    lines = ["[global]", *_pip_settings()]
    copies = [*more, "COPY pip.conf /etc/pip.conf"]
    if certificates is not None:
        shutil.copy(certificates, context / "ca-certificates.crt")
        lines.append(f"cert = {CERTIFICATES}")
        copies.append(f"COPY ca-certificates.crt {CERTIFICATES}")
    (context / "pip.conf").write_text("\n".join(lines) + "\n")
    (context / "Dockerfile").write_text("\n".join([f"FROM {image}", *copies]) + "\n")
    engine.build(context, TAG)


def _pip_settings() -> list[str]:
    """The lines of this machine's pip configuration that name package indexes."""
    command = ["python3", "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    settings = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key in ("index-url", "extra-index-url", "trusted-host", "proxy"):
            settings[key] = value.strip("'")
    return [f"{key} = {value}" for key, value in settings.items()]
