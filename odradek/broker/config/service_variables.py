"""Environment variables that Kubernetes sets in containers for services, and that are not settings.

A service named kafka-foo has KAFKA_FOO_SERVICE_HOST, KAFKA_FOO_PORT and others set, which look like settings. Pure; it
imports nothing of ours, since the image's entry point reads it. Source: Kubernetes, "Discovering services"
(environment variables, with those of Docker's links).
"""

import re

_BY_NAME = re.compile(
    r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_PORT = re.compile(r"(?:\w+_)?PORT")
_ADDRESS = re.compile(r"(?:tcp|udp|sctp)://\S*", re.IGNORECASE)


def is_of_a_service(name: str, value: str, prefix: str) -> bool:
    """Whether Kubernetes has set a variable for a service whose name begins as ``prefix`` does (``KAFKA_``).

    A name that ends with ``PORT`` alone counts only if its value is an address (``tcp://10.0.0.1:9092``). With a number
    it is a user's mistake, which must be reported.
    """
    if not name.startswith(prefix):
        return False
    rest = name.removeprefix(prefix)
    if _BY_NAME.fullmatch(rest):
        return True
    return _PORT.fullmatch(rest) is not None and _ADDRESS.fullmatch(value) is not None
