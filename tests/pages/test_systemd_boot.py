"""The unit of docs/operating.md under a real systemd: a Debian of its own boots in a container without a network."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.debian import program_or_skip
from support.pages import only_block
from support.pipeline.wheel import ROOT, build_wheel, run

SUITE = "bookworm"
PACKAGES = "systemd,systemd-sysv,dbus,python3,python3-venv,ca-certificates"
WITHOUT_NETWORK = "PIP_NO_INDEX=1 PIP_FIND_LINKS=/srv/wheels"
NSPAWN = ("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network")
SCENE = """exec > /srv/scene.log 2>&1
said() { echo "== $1: $2"; }
main() { systemctl show odradek --property MainPID --value; }
odradek() { /opt/odradek/bin/odradek "$@"; }
systemctl enable --now odradek; said start $?
odradek health; said health $?
echo one | odradek produce --topic orders
said capabilities "$(sed -n 's/^CapEff:[ \\t]*//p' /proc/$(main)/status)"
said limit "$(systemctl show odradek --property LimitNOFILE --value)"
killed=$(main); kill -9 $killed
while [ "$(systemctl is-active odradek)" != active ] || [ "$(main)" = $killed ]; do sleep 0.2; done
said killed "$(systemctl show odradek --property NRestarts --value)"
said record "$(odradek consume --topic orders --from-beginning --max-messages 1 2>/dev/null)"
sed -i 's#:9092#:19092#' /etc/odradek/server.properties
systemctl restart odradek; said restart $?
odradek health --bootstrap-server 127.0.0.1:19092; said elsewhere $?
systemctl stop odradek; said stop "$(systemctl show odradek --property ExecMainStatus --value)"
said marker "$(ls -a /var/lib/odradek | grep clean)"
echo nonsense.key=1 >> /etc/odradek/server.properties
systemctl start odradek; said wrong $?
while [ "$(systemctl is-active odradek)" != failed ]; do sleep 0.2; done
journalctl --unit odradek --no-pager
systemctl poweroff
"""
SERVICE = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /srv/scene.sh
"""

pytestmark = pytest.mark.long


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    """The root directory of a Debian with the checkout's wheel, its dependencies and conf."""
    if os.geteuid():
        pytest.skip("a container with its own systemd needs root")
    for program, package in (("mmdebstrap", "mmdebstrap"), ("systemd-nspawn", "systemd-container")):
        program_or_skip(program, package)
    root = tmp_path / "root"
    run("mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, root, directory=tmp_path)
    checkout = root / "srv" / "checkout"
    wheel = build_wheel(tmp_path / "wheel")
    (checkout / "dist").mkdir(parents=True)
    shutil.copy(wheel, checkout / "dist")
    shutil.copytree(ROOT / "conf", checkout / "conf")
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version=3.11"]
    run(*download, "--dest", root / "srv" / "wheels", wheel, directory=tmp_path)
    return root


def test_the_unit_starts_restarts_and_gives_up(debian: Path) -> None:
    install = only_block("docs/operating.md", "Install as a service", "sh").text
    before, command = re.fullmatch(r"(.*)^(systemctl .*?)$.*", install, re.MULTILINE | re.DOTALL).groups()  # type: ignore[union-attr]
    assert SCENE.count(command) == 1, "the page's own line is run"
    commands = f"set -e; export {WITHOUT_NETWORK}; cd /srv/checkout\n{before}"
    run(*NSPAWN, "--directory", debian, "--pipe", "/bin/sh", "-c", commands, directory=debian)
    (debian / "srv" / "scene.sh").write_text(SCENE)
    units = debian / "etc" / "systemd" / "system"
    (units / "scene.service").write_text(SERVICE)
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "scene.service").symlink_to("../scene.service")
    booted = subprocess.run(
        [*NSPAWN, "--boot", "--directory", str(debian)],
        env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    log = debian / "srv" / "scene.log"
    assert log.exists(), booted.stdout[-3000:] + booted.stderr[-3000:]
    text = log.read_text()
    assert dict(re.findall(r"^== (\w+): (.*)$", text, re.MULTILINE)) == {
        "start": "0",
        "health": "0",
        "capabilities": "0000000000000000",
        "limit": "100000",
        "killed": "1",
        "record": "one",
        "restart": "0",
        "elsewhere": "0",
        "stop": "0",
        "marker": ".kafka_cleanshutdown",
        "wrong": "1",
    }, text
    assert "Unknown key nonsense.key" in text
    assert "Start request repeated too quickly" in text
