#!/opt/odradek/bin/python
"""The image's entry point: takes the variables that Apache Kafka's image takes, then becomes ``odradek``.

``KAFKA_LISTENERS=…`` sets ``listeners``: the prefix goes, letters are small, ``___`` is a hyphen, ``__`` an underscore,
``_`` a dot. CLUSTER_ID names a new data directory's cluster. A properties file mounted as
/mnt/shared/config/server.properties takes the place of the image's own. Rules: ``KafkaDockerWrapper`` and the scripts
``configure`` and ``run`` of Apache's image.

It replaces itself by the broker, so that the broker is process 1 and gets the signals. With ``healthcheck`` as argument
it asks the first listener that these variables give; with ``configure`` it prints the configuration as a file. A shell,
a path or one of Kafka's tools as argument is run as it is, as a child, and gets the signals with everything that it has
started: that is how Testcontainers and others start a broker by a script of their own (``/etc/kafka/docker/run``).
Under the name ``kafka-configs`` it is that tool, and takes ``--zookeeper``, too.

The variables of other images count too: those of Confluent's (the ones of its own products and of ZooKeeper are
passed over), Bitnami's (``KAFKA_CFG_…``, users and key stores) and wurstmeister's (``KAFKA_CREATE_TOPICS``). Keys of
clients and of Kafka 3 are passed over, too: Kafka's broker ignores them, and compose files have them.
``odradek.broker.config.image_variables`` knows the variables that name files of key stores and passwords.
"""

import signal

STOPS = {signal.SIGTERM, signal.SIGINT}
if __name__ == "__main__":
    # The kernel drops what process 1 has no handler for. These wait from now on, and not only after 100 ms of imports,
    # until the broker has its own handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)

import contextlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from odradek.broker.config import image_variables
from odradek.broker.config.foreign_keys import OF_CLIENTS, is_removed
from odradek.broker.config.service_variables import is_of_a_service

PREFIX = "KAFKA_"
WITH_AN_EFFECT = frozenset(
    {
        "KAFKA_ADVERTISED_HOST_NAME",
        "KAFKA_ADVERTISED_PORT",
        "KAFKA_CREATE_TOPICS",
        "KAFKA_KRAFT_CLUSTER_ID",
    }
)
"""Variables that have an effect here and are not broker configs."""
OF_KAFKAS_JVM = frozenset(
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
"""Variables for Kafka's JVM, scripts or image. Only the path of a JAAS file in KAFKA_OPTS has an effect here."""
OF_OTHER_PRODUCTS = re.compile(
    "KAFKA_(?:ZOOKEEPER_|CFG_ZOOKEEPER_|CONFLUENT_|LICENSE_TOPIC|METRIC_REPORTERS|SCHEMA_REGISTRY_|REST_"
    "|KAFKA_REST_|ENABLE_KRAFT|CLIENT_LISTENER|CLIENT_SASL_MECHANISM|EXTRA_FLAGS|VOLUME_DIR|MOUNTED_CONF_DIR|BASE_DIR"
    "|CONF_DIR|CONF_FILE|DATA_DIR|CERTS_DIR|LOG_DIR$|INITSCRIPTS_DIR|DAEMON_(?:USER|GROUP)$|SKIP_KRAFT_STORAGE_INIT"
    "|INITIAL_CONTROLLERS|KRAFT_BOOTSTRAP_SCRAM_USERS|ZOOKEEPER"
    "|LISTENER_NAME_\\w+_SSL_(?:KEYSTORE_FILENAME|TRUSTSTORE_FILENAME|KEY(?:STORE)?_CREDENTIALS|TRUSTSTORE_CREDENTIALS)$)"
)
"""Variables of ZooKeeper, Confluent's products and the scripts of other images. They have no effect on this broker."""
ID_KEYS = ("broker.id", "node.id")
GENERATED_ID = "-1"
"""A broker id that a cluster with ZooKeeper chose."""
BITNAMI_PREFIX = "KAFKA_CFG_"
BITNAMI_DATA = "/bitnami/kafka/data"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
OLD_AUTHORIZERS = ("kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer")
"""The authorizers of clusters with ZooKeeper. StandardAuthorizer has the same rules."""
AUTHORIZER_VARIABLES = ("KAFKA_AUTHORIZER_CLASS_NAME", "KAFKA_CFG_AUTHORIZER_CLASS_NAME")
PASSED_ON = re.compile(r"/.*|sh|bash|kafka-[a-z0-9-]+(?:\.sh)?")
"""Commands of other programs, which are run as they are."""

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
STARTS_FOR_S = 2
NEW_FOR_S = 30
CHECK_EVERY_NEW_S = 1
CHECK_EVERY_S = 5
LOOK_AGAIN_S = 0.02
INTERVAL_S = 0.25
"""How long Docker waits after a check before the next one (HEALTHCHECK in the Dockerfile)."""
NO_BROKER_AFTER_S = 5
SERVING = frozenset({"serve", "test-broker"})
"""The commands that are brokers."""
STARTS_A_BROKER = re.compile(
    r"/etc/(?:kafka|confluent)/docker/(?:run|launch)\b|\bkafka-server-start\b"
    r"|\bodradek(?:-entrypoint)?[\"']?\s+[\"']?(?:serve|test-broker)\b"
)
"""What a script that starts a broker contains."""
SCRIPT_CHARACTERS = 65_536
"""How much of a script is read."""
SHELLS = frozenset({"sh", "bash"})
WAIT_MS = 4000
ZOOKEEPER_WAIT_MS = 30_000
"""How long ``kafka-configs --zookeeper`` waited for a connection: 30 s, as in Kafka's ``ConfigCommand``."""
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
"""The sockets of the container, one a line, with addresses and states in hexadecimal (proc(5))."""
STATE_AT = 3
LISTENS = "0A"
STARTED_AT = 19
"""The place of ``starttime`` in /proc/PID/stat, counted from the first field after the name (proc(5): field 22)."""
DEFAULT_ADDRESS = "localhost:9092"
DEFAULT_ADVERTISED = f"PLAINTEXT://{DEFAULT_ADDRESS}"
"""The default, for a container that publishes port 9092."""


def key_of(variable: str) -> str:
    """The configuration key that a variable sets."""
    name = variable.removeprefix(BITNAMI_PREFIX).removeprefix(PREFIX).lower()
    return name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def listen_everywhere(advertised: str) -> str:
    """The listeners behind advertised ones: the same names and ports on every address."""
    return re.sub(r"://(\[[^]]*\]|[^:,]*):", "://0.0.0.0:", advertised)


def read_file(path: str) -> bytes | None:
    """The content of a file; None if there is none. Raises OSError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def settings(
    environ: Mapping[str, str], has_file: bool, read: image_variables.Read = read_file
) -> dict[str, tuple[str, str]]:
    """The keys that an environment sets: key -> (value, the variable that sets it, empty for our own default).

    ``has_file``: the user's own file says what isn't set here. ``read`` reads files that variables name. Raises
    MissingFileError.
    """
    given = {
        key_of(name): (value, name)
        for name, value in sorted(environ.items())
        if name.startswith(PREFIX)
        and name not in WITH_AN_EFFECT
        and name not in image_variables.WITH_AN_EFFECT
        and _reason(name) is None
        and not is_of_a_service(name, value, PREFIX)
    }
    given |= image_variables.of_secrets(environ, read)
    given |= image_variables.of_bitnami(environ, given, read)
    if "node.id" not in given and not has_file and "broker.id" in given:
        # The image's own file has a node.id, and both must be the same.
        given["node.id"] = given["broker.id"]
    if given.get("broker.id", ("", ""))[0] == GENERATED_ID:
        given = {key: value for key, value in given.items() if value[0] != GENERATED_ID or key not in ID_KEYS}
    if given.get("authorizer.class.name", ("", ""))[0] in OLD_AUTHORIZERS:
        given["authorizer.class.name"] = (STANDARD_AUTHORIZER, given["authorizer.class.name"][1])
    if "log.dirs" not in given and any(name.startswith(BITNAMI_PREFIX) for name in environ):
        given["log.dirs"] = (BITNAMI_DATA, "")
    if "KAFKA_ADVERTISED_HOST_NAME" in environ and "advertised.listeners" not in given:
        port = environ.get("KAFKA_ADVERTISED_PORT", "9092")
        address = f"PLAINTEXT://{environ['KAFKA_ADVERTISED_HOST_NAME']}:{port}"
        given["advertised.listeners"] = (address, "KAFKA_ADVERTISED_HOST_NAME")
    for option in environ.get("KAFKA_OPTS", "").split():
        if option.startswith(JAAS_FILE):
            given["java.security.auth.login.config"] = (option.removeprefix(JAAS_FILE), "KAFKA_OPTS")
    listeners_said = "listeners" in given or "ODRADEK_LISTENERS" in environ
    if "advertised.listeners" in given and not listeners_said and not has_file:
        advertised, name = given["advertised.listeners"]
        given["listeners"] = (listen_everywhere(advertised), name)
    if (
        not has_file
        and not {"listeners", "advertised.listeners"} & given.keys()
        and not any(name in environ for name in LISTENER_VARIABLES)
    ):
        given["advertised.listeners"] = (DEFAULT_ADVERTISED, "")
    return given


def command(
    arguments: Sequence[str], environ: Mapping[str, str], has_file: bool, read: image_variables.Read = read_file
) -> list[str]:
    """What to run: ``odradek serve`` with the settings, or the odradek command that ``arguments`` name.

    ``arguments`` that follow ``serve`` come last, so they win. ``has_file``: a configuration is mounted. ``read`` reads
    files that variables name. Raises MissingFileError.
    """
    asked = list(arguments) or ["serve"]
    if asked[0] != "serve":
        return asked if PASSED_ON.fullmatch(asked[0]) else ["odradek", *asked]
    run = ["odradek", "serve", "--announce-as-kafka"]
    cluster_id = environ.get("CLUSTER_ID") or environ.get("KAFKA_KRAFT_CLUSTER_ID")
    if cluster_id:
        run += ["--cluster-id", cluster_id]
    file_named = names_a_file(asked[1:])
    given = settings(environ, has_file or file_named, read)
    for topic in topics_to_create(environ):
        run += ["--create-topic", topic]
    if environ.get("ODRADEK_TOPICS_FILE"):
        run += ["--topics", environ["ODRADEK_TOPICS_FILE"]]
    for key, (value, name) in given.items():
        run += ["--variable", name, f"{key}={value}"] if name else ["--override", f"{key}={value}"]
    if not file_named:
        run.append(MOUNTED_CONFIGURATION if has_file else OWN_CONFIGURATION)
    return run + asked[1:]


def properties(environ: Mapping[str, str], file_text: str, has_file: bool) -> str:
    """The configuration as a properties file: ``file_text``, and after it what the environment sets."""
    lines = [f"{key}={escaped(value)}" for key, (value, _) in settings(environ, has_file).items()]
    return "\n".join([file_text.rstrip("\n"), *lines]) + "\n"


def escaped(value: str) -> str:
    """A value, escaped for a properties file."""
    value = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"\\{value}" if value.startswith(" ") else value


def topics_to_create(environ: Mapping[str, str]) -> list[str]:
    """The topics in ODRADEK_CREATE_TOPICS and KAFKA_CREATE_TOPICS, which are separated by commas."""
    named = ",".join(environ.get(name, "") for name in ("ODRADEK_CREATE_TOPICS", "KAFKA_CREATE_TOPICS"))
    return [topic.strip() for topic in named.split(",") if topic.strip()]


def passed_over(environ: Mapping[str, str]) -> list[str]:
    """A line for each variable that has an effect in another image, but none or another one here."""
    return [
        f"{name} has no effect here: {reason}"
        for name in sorted(environ)
        for reason in [_reason(name)]
        if reason is not None and not (name == "KAFKA_OPTS" and JAAS_FILE in environ[name])
    ] + [
        f"{name}: using {STANDARD_AUTHORIZER} instead of {environ[name]}, which needs ZooKeeper"
        for name in AUTHORIZER_VARIABLES
        if environ.get(name) in OLD_AUTHORIZERS
    ]


def _reason(name: str) -> str | None:
    if "ZOOKEEPER" in name and name.startswith(PREFIX):
        return "this broker needs no ZooKeeper"
    if name in image_variables.WITH_AN_EFFECT:
        return None
    if OF_OTHER_PRODUCTS.match(name):
        return "it configures another product or image"
    if name in OF_KAFKAS_JVM:
        return "it configures Kafka's JVM, scripts or image"
    if not name.startswith(PREFIX) or name in WITH_AN_EFFECT:
        return None
    if key_of(name) in OF_CLIENTS:
        return f"{key_of(name)} is a key of clients, not of a broker"
    if is_removed(key_of(name)):
        return f"{key_of(name)} is a key of Kafka 3 that Kafka 4 no longer has"
    return None


def names_a_file(arguments: Sequence[str]) -> bool:
    """Whether the arguments of ``serve`` include a configuration file. Every option has a value, also after a ``=``."""
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
    """The address for health checks: the first listener that is not for controllers.

    ``file_text`` is the configuration file in use, which counts where the environment says nothing.
    """
    found = addresses(listener_settings(environ, file_text, has_file))
    return next(iter(found.values()), DEFAULT_ADDRESS)


def address_inside(environ: Mapping[str, str], file_text: str, has_file: bool) -> str:
    """The address for tools inside the container: the listener for other brokers, whose advertised address is one of
    the container. Without such a listener it is that for health checks.
    """
    said = listener_settings(environ, file_text, has_file)
    found = addresses(said)
    return found.get(said["inter.broker.listener.name"]) or next(iter(found.values()), DEFAULT_ADDRESS)


def listener_settings(environ: Mapping[str, str], file_text: str, has_file: bool) -> dict[str, str]:
    """The keys about listeners that the environment sets, or else the configuration file; empty if neither does."""
    said = dict(re.findall(r"^\s*([a-z.]+)\s*[=:]\s*(.*?)\s*$", file_text, re.MULTILINE))
    for key in ("listeners", "controller.listener.names", "inter.broker.listener.name"):
        said[key] = environ.get("ODRADEK_" + key.upper().replace(".", "_"), said.get(key, ""))
    return said | {key: value for key, (value, _) in settings(environ, has_file).items()}


def addresses(said: Mapping[str, str]) -> dict[str, str]:
    """The names of the listeners that are not for controllers -> their addresses inside the container."""
    controllers = said["controller.listener.names"].split(",")
    found = {}
    for listener in said["listeners"].split(","):
        name, _, address = listener.strip().partition("://")
        host, _, port = address.rpartition(":")
        if name and name not in controllers:
            found[name] = f"{'localhost' if host in ('', '0.0.0.0', '[::]') else host}:{port}"
    return found


def configs_command(arguments: Sequence[str], address: str) -> list[str]:
    """What ``kafka-configs`` runs: until Kafka 3, users were added to ``--zookeeper``; here a broker takes its place.

    The tool waited for ZooKeeper, and Testcontainers' module for Node relies on it. So this waits for the broker.
    """
    asked = iter(arguments)
    changed = []
    waits = False
    for argument in asked:
        if argument.partition("=")[0] == "--zookeeper":
            waits = True
            if "=" not in argument:
                next(asked, None)
            changed += ["--bootstrap-server", address]
        else:
            changed.append(argument)
    if not waits:
        return ["odradek", "configs", *changed]
    wait = f"odradek health --bootstrap-only --bootstrap-server {shlex.quote(address)} --wait {ZOOKEEPER_WAIT_MS}"
    return ["sh", "-c", f'{wait} > /dev/null && exec odradek configs "$@"', "kafka-configs", *changed]


def broker_age_s() -> float:
    """How long process 1, the broker, has run, in seconds; 0 if the system doesn't say."""
    try:
        with open("/proc/1/stat", encoding="utf-8") as stat, open("/proc/uptime", encoding="utf-8") as uptime:
            started_ticks = int(stat.read().rpartition(")")[2].split()[STARTED_AT])
            return float(uptime.read().split()[0]) - started_ticks / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def serves(commands: Iterable[Sequence[str]]) -> bool:
    """Whether one of these processes is a broker, or the entry point that becomes one."""
    return any(SERVING & {*words} and any("odradek" in word for word in words) for words in commands)


def running() -> Iterator[tuple[str, list[str]]]:
    """The working directories, as paths that this process can open, and the command lines of the container's
    processes."""
    for process in os.listdir("/proc"):
        if process.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{process}/cmdline", "rb") as file:
                yield f"/proc/{process}/cwd", file.read().decode(errors="replace").split("\0")


def will_serve(processes: Iterable[tuple[str, Sequence[str]]]) -> bool:
    """Whether one of these processes is a script that starts a broker: text after ``sh -c``, or a file that a shell
    runs."""
    return any(
        STARTS_A_BROKER.search(text)
        for directory, words in processes
        if os.path.basename(words[0]) in SHELLS
        for text in (" ".join(words), *(content(os.path.join(directory, word)) for word in words[1:]))
    )


def content(path: str) -> str:
    """The beginning of a text file; empty if there is none at ``path``."""
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read(SCRIPT_CHARACTERS)
    return ""


def health_command(address: str, age_s: float, expects_broker: bool) -> list[str]:
    """What the health check runs. ``expects_broker``: a broker runs in the container, or a script will start one.

    A container that runs another command (``docker run odradek sleep infinity``) is healthy after NO_BROKER_AFTER_S.
    Until then a script may still start a broker that it does not name, as one that waits for another script does. The
    images that this one replaces have no health check, and modules of Testcontainers wait for the health of such a
    container.

    Docker begins the first check INTERVAL_S after the start, and each other one as long after the last. The first
    one waits until the broker answers, so that the container is healthy as soon as it does. Later ones sleep first,
    which leaves one every second while the broker is new, and then one every CHECK_EVERY_S. (--start-interval would
    help in Docker 25 and newer; older ones refuse to build an image with it.)
    """
    check = ["odradek", "health", "--bootstrap-only", "--bootstrap-server", address]
    if not expects_broker and age_s > NO_BROKER_AFTER_S:
        return _after(CHECK_EVERY_NEW_S, ["true"])
    if age_s < STARTS_FOR_S:
        return [*check, "--wait", str(WAIT_MS)]
    if age_s < NEW_FOR_S:
        return _after(CHECK_EVERY_NEW_S, [*check, "--wait", str(WAIT_MS)])
    return _after(CHECK_EVERY_S, check)


def _after(every_s: float, check: list[str]) -> list[str]:
    """A check that begins so late that there is one every ``every_s``."""
    return ["sh", "-c", f'sleep {every_s - INTERVAL_S}; exec "$0" "$@"', *check]


def wait_for_listener(address: str) -> None:
    """Returns when a socket listens on the address's port, or after WAIT_MS.

    A check during the start costs next to nothing until then. ``odradek health`` imports as much as a broker, and took
    0.3 s from its start on two busy cores.
    """
    port = int(address.rpartition(":")[2])
    tables = [path for path in TABLES if os.path.exists(path)]  # without any, the check itself waits
    deadline = time.monotonic() + WAIT_MS / 1000
    while tables and time.monotonic() < deadline:
        if any(is_listening(port, _lines(path)) for path in tables):
            return
        time.sleep(LOOK_AGAIN_S)


def is_listening(port: int, table: Iterable[str]) -> bool:
    """Whether a socket of a table of /proc/net listens on a port."""
    rows = (line.split() for line in table)
    return any(row[1].endswith(f":{port:04X}") and row[STATE_AT] == LISTENS for row in rows if len(row) > STATE_AT)


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.readlines()


def run_as_child(run: Sequence[str]) -> int:
    """Runs a command that may start others, as process 1 has to: passes on signals to all of them, and waits for all.

    A shell as process 1 would not pass on SIGTERM, and a container would be killed after its grace period.
    """
    try:
        child = subprocess.Popen(run, start_new_session=True)
    except OSError as error:
        print(f"{run[0]}: {error.strerror}", file=sys.stderr)
        return 127

    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, pass_on)
    code = 0
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return code
        if pid == child.pid:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code


def main() -> None:
    """Replaces this process by the command, or ends it with a line if a variable names a file that is not there."""
    try:
        _run()
    except image_variables.MissingFileError as error:
        sys.exit(f"odradek: {error}")


def _run() -> None:
    has_file = os.path.exists(MOUNTED_CONFIGURATION)
    is_tool = os.path.basename(sys.argv[0]).startswith("kafka-configs")
    if is_tool or sys.argv[1:] in (["healthcheck"], ["configure"]):
        with open(MOUNTED_CONFIGURATION if has_file else OWN_CONFIGURATION, encoding="utf-8") as file:
            text = file.read()
        if is_tool:
            address = address_inside(os.environ, text, has_file)
            run = configs_command(sys.argv[1:], address)
        elif sys.argv[1:] == ["configure"]:
            print(properties(os.environ, text, has_file), end="")
            return
        else:
            processes = list(running())
            has_broker = serves(words for _, words in processes)
            address, age_s = health_address(os.environ, text, has_file), broker_age_s()
            if has_broker and age_s < STARTS_FOR_S:
                wait_for_listener(address)
            run = health_command(address, age_s, has_broker or will_serve(processes))
    else:
        run = command(sys.argv[1:], os.environ, has_file)
        if run[0] != "odradek" and not sys.stdin.isatty():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
            sys.exit(run_as_child(run))
        if run[1:2] == ["serve"]:
            for line in passed_over(os.environ):
                print(line, flush=True)
            os.execvp(run[0], run)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    os.execvp(run[0], run)


if __name__ == "__main__":
    main()
