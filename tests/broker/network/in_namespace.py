"""A script for a network namespace of its own, in which the loopback interface is down and has no address.

python in_namespace.py bound LISTENER       prints the addresses that a listener binds there
python in_namespace.py link-local DIR       serves on fe80::1%lo, and uses the command line's clients
"""

import contextlib
import fcntl
import socket
import struct
import subprocess
import sys
from pathlib import Path

from odradek.broker.config.listeners import parse_listeners
from odradek.broker.network.listening import bind

IN_NAMESPACE = Path(__file__)
SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916
IFF_UP, IFF_LOOPBACK, IFF_RUNNING = 0x1, 0x8, 0x40
LO = 1
"""The index of the loopback interface in a new namespace."""
ADDRESS, SERVER = "fe80::1", "[fe80::1%lo]:9092"
STOP_S = 60


def bring_up() -> None:
    """Brings the loopback interface up, and gives it a link-local address. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP | IFF_LOOPBACK | IFF_RUNNING))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFADDR, struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, ADDRESS), 64, LO))


def run(*arguments: str, said: str = "") -> str:
    """The output of a command of ours."""
    command = [sys.executable, "-m", "odradek", *arguments, "--bootstrap-server", SERVER]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=True).stdout


def serve(directory: Path) -> None:
    """Serves, and prints what clients get."""
    overrides = [f"listeners=PLAINTEXT://{SERVER}", f"log.dirs={directory / 'logs'}"]
    options = [part for one in overrides for part in ("--override", one)]
    with (directory / "odradek.log").open("wb") as log:
        broker = subprocess.Popen([sys.executable, "-m", "odradek", "serve", *options], stdout=log, stderr=log)
    with contextlib.ExitStack() as undo:
        undo.callback(broker.wait, STOP_S)
        undo.callback(broker.terminate)
        print(run("health", "--wait", "30000").rpartition(", ")[2].strip())
        run("topics", "--create", "--topic", "t")
        print(run("topics", "--list", "--exclude-internal").strip())
        run("produce", "--topic", "t", said="value\n")
        print(run("consume", "--topic", "t", "--from-beginning", "--max-messages", "1").strip())


def main() -> None:
    """Does what the arguments say."""
    what, argument = sys.argv[1:]
    if what == "bound":
        [listener] = parse_listeners("listeners", [argument], {"PLAINTEXT": "PLAINTEXT"})
        print([one.getsockname()[0] for one in bind(listener).sockets])
    else:
        bring_up()
        serve(Path(argument))


if __name__ == "__main__":
    main()
