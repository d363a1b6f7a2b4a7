#!/opt/odradek/bin/python
"""The image's entry point: takes the variables that Apache Kafka's image takes, then becomes ``odradek``.

``KAFKA_LISTENERS=…`` sets ``listeners``: the prefix goes, letters are small, ``___`` is a hyphen, ``__`` an underscore,
``_`` a dot. CLUSTER_ID names a new data directory's cluster. A properties file mounted as
/mnt/shared/config/server.properties takes the place of the image's own. Rules: ``KafkaDockerWrapper`` and the scripts
``configure`` and ``run`` of Apache's image.

It replaces itself by the broker, so that the broker is process 1 and gets the signals. With ``healthcheck`` as argument
it asks the first listener that these variables give.
"""

import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence

from odradek.broker.config.service_variables import is_of_a_service

PREFIX = "KAFKA_"
NOT_KEYS = frozenset(
    {
        "KAFKA_CLUSTER_ID",
        "KAFKA_DEBUG",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_USER",
        "KAFKA_VERSION",
    }
)
"""What configures Kafka's JVM, its scripts or the image: none of the broker's keys."""

JAAS_FILE = "-Djava.security.auth.login.config="
"""The option in KAFKA_OPTS that names a JAAS file."""

OWN_CONFIGURATION = "/etc/odradek/server.properties"
MOUNTED_CONFIGURATION = "/mnt/shared/config/server.properties"
LISTENER_VARIABLES = (
    "KAFKA_LISTENERS",
    "KAFKA_ADVERTISED_LISTENERS",
    "ODRADEK_LISTENERS",
    "ODRADEK_ADVERTISED_LISTENERS",
)
NEW_FOR_S = 30
CHECK_EVERY_S = 5
WAIT_MS = 4000
STARTED_AT = 19
"""The place of ``starttime`` in /proc/PID/stat, counted from the first field after the name (proc(5): field 22)."""
DEFAULT_ADVERTISED = "PLAINTEXT://localhost:9092"
"""For the container whose port 9092 is published and nothing else is said."""


def key_of(variable: str) -> str:
    """The configuration key that a variable sets."""
    name = variable.removeprefix(PREFIX).lower()
    return name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def listen_everywhere(advertised: str) -> str:
    """The listeners behind advertised ones: the same names and ports on every address."""
    return re.sub(r"://(\[[^]]*\]|[^:,]*):", "://0.0.0.0:", advertised)


def settings(environ: Mapping[str, str], has_file: bool) -> dict[str, tuple[str, str]]:
    """The keys that an environment sets: key -> (value, the variable that sets it, empty for our own default).

    ``has_file``: the user's own file says what isn't set here.
    """
    given = {
        key_of(name): (value, name)
        for name, value in sorted(environ.items())
        if name.startswith(PREFIX) and name not in NOT_KEYS and not is_of_a_service(name, value, PREFIX)
    }
    for option in environ.get("KAFKA_OPTS", "").split():
        if option.startswith(JAAS_FILE):
            given["java.security.auth.login.config"] = (option.removeprefix(JAAS_FILE), "KAFKA_OPTS")
    listeners_said = "listeners" in given or "ODRADEK_LISTENERS" in environ
    if "advertised.listeners" in given and not listeners_said and not has_file:
        advertised, name = given["advertised.listeners"]
        given["listeners"] = (listen_everywhere(advertised), name)
    if not has_file and not any(name in environ for name in LISTENER_VARIABLES):
        given["advertised.listeners"] = (DEFAULT_ADVERTISED, "")
    return given


def command(arguments: Sequence[str], environ: Mapping[str, str], has_file: bool) -> list[str]:
    """What to run: ``odradek serve`` with the settings, or the odradek command that ``arguments`` name.

    ``arguments`` that follow ``serve`` come last, so they win. ``has_file``: a configuration is mounted.
    """
    asked = list(arguments) or ["serve"]
    if asked[0] != "serve":
        return ["odradek", *asked]
    run = ["odradek", "serve"]
    if environ.get("CLUSTER_ID"):
        run += ["--cluster-id", environ["CLUSTER_ID"]]
    file_named = names_a_file(asked[1:])
    for key, (value, name) in settings(environ, has_file or file_named).items():
        run += ["--variable", name, f"{key}={value}"] if name else ["--override", f"{key}={value}"]
    if not file_named:
        run.append(MOUNTED_CONFIGURATION if has_file else OWN_CONFIGURATION)
    return run + asked[1:]


def names_a_file(arguments: Sequence[str]) -> bool:
    """Whether the arguments of ``serve`` name a configuration (every option takes a value, or holds it after a =)."""
    is_value = False
    for argument in arguments:
        if is_value:
            is_value = False
        elif argument.startswith("-"):
            is_value = "=" not in argument
        else:
            return True
    return False


def health_address(environ: Mapping[str, str], file_text: str, has_file: bool) -> str:
    """Where to ask whether the broker serves: its first listener that is no controller's.

    ``file_text`` is the configuration file in use, which counts where the environment says nothing.
    """
    said = dict(re.findall(r"^\s*([a-z.]+)\s*[=:]\s*(.*?)\s*$", file_text, re.MULTILINE))
    for key in ("listeners", "controller.listener.names"):
        said[key] = environ.get("ODRADEK_" + key.upper().replace(".", "_"), said.get(key, ""))
    said |= {key: value for key, (value, _) in settings(environ, has_file).items()}
    controllers = said["controller.listener.names"].split(",")
    for listener in said["listeners"].split(","):
        name, _, address = listener.strip().partition("://")
        host, _, port = address.rpartition(":")
        if name and name not in controllers:
            return f"{'localhost' if host in ('', '0.0.0.0', '[::]') else host}:{port}"
    return "localhost:9092"


def broker_age_s() -> float:
    """How long process 1, the broker, has run, in seconds; 0 if the system doesn't say."""
    try:
        with open("/proc/1/stat", encoding="utf-8") as stat, open("/proc/uptime", encoding="utf-8") as uptime:
            started_ticks = int(stat.read().rpartition(")")[2].split()[STARTED_AT])
            return float(uptime.read().split()[0]) - started_ticks / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def health_command(address: str, age_s: float) -> list[str]:
    """What the health check runs.

    Docker begins the first check after a second, and the next ones a second after the last. While the broker is new, a
    check tries until the broker answers, so that the container is healthy as soon as it does. Later ones sleep first,
    which leaves one every CHECK_EVERY_S. (--start-interval would help in Docker 25 and newer; older ones refuse to
    build an image with it.)
    """
    check = ["odradek", "health", "--bootstrap-server", address]
    if age_s < NEW_FOR_S:
        return [*check, "--wait", str(WAIT_MS)]
    return ["sh", "-c", f'sleep {CHECK_EVERY_S - 1}; exec "$0" "$@"', *check]


def main() -> None:
    """Replaces this process by what was asked for."""
    has_file = os.path.exists(MOUNTED_CONFIGURATION)
    if sys.argv[1:] == ["healthcheck"]:
        with open(MOUNTED_CONFIGURATION if has_file else OWN_CONFIGURATION, encoding="utf-8") as file:
            run = health_command(health_address(os.environ, file.read(), has_file), broker_age_s())
    else:
        run = command(sys.argv[1:], os.environ, has_file)
        if run[1] == "serve":
            # The kernel drops what process 1 has no handler for: these wait until the broker has its own.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    os.execvp(run[0], run)


if __name__ == "__main__":
    main()
