#!/opt/odradek/bin/python
"""``zookeeper-server-start FILE`` of the image: opens the ``clientPort`` of the file, and serves nothing there.

This broker needs no ZooKeeper. Modules of Testcontainers start one beside the broker in Confluent's image, and the
module for Node waits until its port is open.
"""

import re
import socket
import sys

DEFAULT_PORT = 2181


def client_port(text: str) -> int:
    """The ``clientPort`` of a properties file; ZooKeeper's usual one if the file does not name it."""
    said = re.findall(r"^\s*clientPort\s*[=:]\s*(\d+)", text, re.MULTILINE)
    return int(said[-1]) if said else DEFAULT_PORT


def main() -> None:
    """Accepts and closes connections until SIGTERM."""
    with open(sys.argv[-1], encoding="utf-8") as file:
        port = client_port(file.read())
    with socket.create_server(("", port)) as server:
        print(f"this broker needs no ZooKeeper: port {port} is open, and nothing is served there", flush=True)
        while True:
            server.accept()[0].close()


if __name__ == "__main__":
    main()
