#!/opt/odradek/bin/python
"""The entry point of the jobs' image: runs ``odradek``, or one of Spark's commands if the first argument names it.

It first adds what Java needs and a container may lack: a name for the user (with ``--user "$(id -u)"`` there is none,
and Spark fails on the home directory ``?``), and an address for the host name (``--network none``).
"""

import os
import pwd
import socket
import sys
import tempfile
from collections.abc import MutableMapping, Sequence

SPARK_COMMANDS = frozenset({"pyspark", "spark-class", "spark-shell", "spark-sql", "spark-submit"})


def command(arguments: Sequence[str]) -> list[str]:
    """The command to run: one of Spark's, or the odradek command in ``arguments``."""
    if arguments and arguments[0] in SPARK_COMMANDS:
        return list(arguments)
    return ["odradek", *arguments]


def name_the_user(environ: MutableMapping[str, str]) -> None:
    """Gives a user without an entry in /etc/passwd a name and a home, for the programs that run next."""
    try:
        pwd.getpwuid(os.getuid())
        return
    except KeyError:
        pass
    with open("/etc/passwd", encoding="utf-8") as known:
        entries = known.read()
    with tempfile.NamedTemporaryFile("w", prefix="passwd-", delete=False) as passwd:
        passwd.write(f"{entries}odradek-{os.getuid()}:x:{os.getuid()}:{os.getgid()}::/tmp:/bin/sh\n")
    environ["NSS_WRAPPER_PASSWD"] = passwd.name
    environ["NSS_WRAPPER_GROUP"] = "/etc/group"
    environ["LD_PRELOAD"] = "libnss_wrapper.so"


def name_the_address(environ: MutableMapping[str, str]) -> None:
    """Gives Spark the loopback address if the host name has no address."""
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except socket.gaierror:
        environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def main() -> None:
    """Replaces this process by the command."""
    name_the_user(os.environ)
    name_the_address(os.environ)
    run = command(sys.argv[1:])
    os.execvp(run[0], run)


if __name__ == "__main__":
    main()
