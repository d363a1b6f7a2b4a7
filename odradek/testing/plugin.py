"""The pytest plugin that comes with the package: Kafka brokers for tests, in the test process.

    def test_orders(kafka):
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)

    @pytest.mark.kafka(topics=["orders:3"], configs={"auto.create.topics.enable": False})
    def test_more_orders(kafka): ...

pytest imports this module in every run of every user who has the package, so the broker is imported only when a test
asks for a fixture.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from odradek.protocol.common.lazy_imports import lazy_imports

from .fixtures.options import ADDRESS_OPTION, IMAGE_OPTION

with lazy_imports:
    from .broker import in_process
    from .clusters import cluster as clusters_cluster
    from .container import container, elsewhere
    from .fixtures import marks, ready_clients
    from .security import secured

if TYPE_CHECKING:
    from .broker.config_values import ConfigValue
    from .broker.in_process import InProcessBroker
    from .clusters.cluster import KafkaCluster
    from .container.elsewhere import BrokerElsewhere
    from .fixtures.ready_clients import AiokafkaClients, ConfluentKafkaClients, KafkaPythonClients
    from .security.secured import BrokerSecurity

IMAGE_INI_OPTION = "kafka_image"
CONFIGS_OPTION = "kafka_configs"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options ``--kafka-bootstrap-servers`` and ``--kafka-image``, and the ini options ``kafka_image`` and
    ``kafka_configs``.
    """
    group = parser.getgroup("kafka")
    group.addoption(
        ADDRESS_OPTION,
        metavar="HOST:PORT",
        help="the fixture `kafka` uses the broker at this address, and resets it before each test",
    )
    group.addoption(
        IMAGE_OPTION,
        metavar="IMAGE",
        help="the fixture `kafka` uses a broker in a container of this image, and resets it before each test",
    )
    parser.addini(IMAGE_INI_OPTION, f"the image for {IMAGE_OPTION}, if that option is not given", default="")
    parser.addini(CONFIGS_OPTION, "broker configs for all tests, one key=value per line", "linelist", [])


def pytest_configure(config: pytest.Config) -> None:
    """Adds the mark ``kafka``. Raises UsageError for two options that exclude each other."""
    if config.getoption(ADDRESS_OPTION) and config.getoption(IMAGE_OPTION):
        raise pytest.UsageError(f"{ADDRESS_OPTION} and {IMAGE_OPTION} exclude each other")
    config.addinivalue_line(
        "markers",
        "kafka(topics=[...], configs={...}): what the broker of the fixture `kafka` begins with; topics are 'name', "
        "'name:partitions' or 'name:partitions:cleanup.policy'",
    )
    _keep_asserts(config)


def _keep_asserts(config: pytest.Config) -> None:
    """Keeps pytest from rewriting the asserts of this package, as it does with every package that has a plugin.

    The asserts of a broker are not those of a test, and rewriting costs a second at the first import. Also, if the
    test's thread and the broker's thread rewrite at the same time, they can run into a bug of Python 3.11 (SystemError:
    "AST constructor recursion depth mismatch"). pytest has no public API for this.
    """
    rewritten = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(rewritten, set):
        rewritten.discard("odradek")


@pytest.fixture(scope="session")
def kafka_configs(pytestconfig: pytest.Config) -> "Mapping[str, ConfigValue]":
    """The configs of the brokers of all tests, by Kafka's keys, from the ini option ``kafka_configs``. Override this
    fixture to compute them.
    """
    return marks.configs_of_lines(pytestconfig.getini(CONFIGS_OPTION))


@pytest.fixture(scope="session")
def _kafka_thread(
    pytestconfig: pytest.Config, kafka_configs: "Mapping[str, ConfigValue]"
) -> "Iterator[InProcessBroker | BrokerElsewhere]":
    """The broker of the fixture ``kafka``, which resets it for each test but keeps its thread and event loop.

    With ``--kafka-bootstrap-servers``, the broker at that address; with ``--kafka-image``, one in a container.
    """
    address = pytestconfig.getoption(ADDRESS_OPTION)
    image = pytestconfig.getoption(IMAGE_OPTION)
    if image is None:
        image = pytestconfig.getini(IMAGE_INI_OPTION)
    with ExitStack() as at_end:
        if address:
            yield _broker_elsewhere(address)
        elif image:
            yield _broker_elsewhere(_container(at_end, image, kafka_configs))
        else:
            broker = in_process.InProcessBroker()
            at_end.callback(broker.stop)
            yield broker


def _broker_elsewhere(address: str) -> "BrokerElsewhere":
    return elsewhere.BrokerElsewhere(address)


def _container(at_end: ExitStack, image: str, configs: "Mapping[str, ConfigValue]") -> str:
    """Starts a container with a broker; returns the address. The tests that need it fail if there is none."""
    try:
        return at_end.enter_context(container.broker_in_container(image, configs))
    except container.ContainerError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def kafka(
    request: pytest.FixtureRequest,
    _kafka_thread: "InProcessBroker | BrokerElsewhere",
    kafka_configs: "Mapping[str, ConfigValue]",
) -> "Iterator[InProcessBroker | BrokerElsewhere]":
    """A clean broker for this test: no topics, no groups, new ids and a new port. Its data is removed afterwards.

    The mark ``kafka`` gives it topics and configs. With ``--kafka-bootstrap-servers`` it is the broker at that address,
    with ``--kafka-image`` one in a container, without its topics and groups; tests that use faults, ``advance`` or
    anything else that needs an in-process broker are skipped.
    """
    broker = _kafka_thread
    topics, configs = marks.topics_and_configs(request.node)
    if isinstance(broker, in_process.InProcessBroker):
        broker.reset({**kafka_configs, **configs}, new_port=True)
    else:
        broker.reset(configs)
    for topic in topics:
        broker.create_topic(topic.name, topic.partitions, configs=topic.configs)
    yield broker
    if isinstance(broker, in_process.InProcessBroker):
        broker.faults.clear()


@pytest.fixture
def kafka_python_clients(kafka: "InProcessBroker | BrokerElsewhere") -> "Iterator[KafkaPythonClients]":
    """Makes clients of kafka-python for the broker of the fixture ``kafka``, and closes them at the test's end."""
    with ExitStack() as at_end:
        yield ready_clients.KafkaPythonClients(kafka.bootstrap_servers, at_end)


@pytest.fixture
def confluent_kafka_clients(kafka: "InProcessBroker | BrokerElsewhere") -> "Iterator[ConfluentKafkaClients]":
    """Makes clients of confluent-kafka for the broker of the fixture ``kafka``, and closes them at the test's end."""
    with ExitStack() as at_end:
        yield ready_clients.ConfluentKafkaClients(kafka.bootstrap_servers, at_end)


@pytest.fixture
def aiokafka_clients(kafka: "InProcessBroker | BrokerElsewhere") -> "AiokafkaClients":
    """Makes clients of aiokafka for the broker of the fixture ``kafka``; start and stop each with ``async with``."""
    return ready_clients.AiokafkaClients(kafka.bootstrap_servers)


@pytest.fixture(scope="session")
def kafka_broker(
    tmp_path_factory: pytest.TempPathFactory, kafka_configs: "Mapping[str, ConfigValue]"
) -> "Iterator[InProcessBroker]":
    """One broker for the whole test run. Tests share its data, so each test needs its own topics and groups."""
    with in_process.InProcessBroker(tmp_path_factory.mktemp("kafka_broker"), kafka_configs) as broker:
        yield broker


@pytest.fixture(scope="module")
def kafka_module_broker(
    tmp_path_factory: pytest.TempPathFactory, kafka_configs: "Mapping[str, ConfigValue]"
) -> "Iterator[InProcessBroker]":
    """One broker for the tests of a module, empty at its first test. It is another one than that of ``kafka``."""
    with in_process.InProcessBroker(tmp_path_factory.mktemp("kafka_module_broker"), kafka_configs) as broker:
        yield broker


@pytest.fixture
def kafka_broker_factory(
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[Callable[..., InProcessBroker]]":
    """Starts brokers for this test: ``kafka_broker_factory({"num.partitions": 3})`` returns a running one.

    The configs map Kafka's keys to a str, int, float or bool; they may be left out. All brokers are stopped at the end
    of the test.

    ``security=BrokerSecurity(...)`` gives the broker TLS, users and ACLs; ``security=True`` takes the defaults of that
    class. The broker is then a ``SecuredBroker``: ``broker.client("alice")`` has the settings for each client library.
    """
    brokers: list[in_process.InProcessBroker] = []

    def start(
        configs: "dict[str, ConfigValue] | None" = None, *, security: "BrokerSecurity | bool" = False
    ) -> in_process.InProcessBroker:
        directory = tmp_path_factory.mktemp("kafka_broker")
        if security:
            broker: in_process.InProcessBroker = secured.SecuredBroker(
                directory, configs, None if security is True else security
            )
        else:
            broker = in_process.InProcessBroker(directory, configs)
        broker.start()
        brokers.append(broker)
        return broker

    try:
        yield start
    finally:
        for broker in brokers:
            broker.stop()


@pytest.fixture
def kafka_cluster() -> "Iterator[KafkaCluster]":
    """A clean cluster of three brokers for this test. Its data is removed at the end of the test."""
    with clusters_cluster.KafkaCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def kafka_cluster_factory(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Callable[..., KafkaCluster]]":
    """Starts clusters for this test: ``kafka_cluster_factory(brokers=3, configs={...}, racks=[...])`` returns one.

    ``configs`` map Kafka's keys to a str, int, float or bool, for all brokers and the controller; ``racks`` has
    ``broker.rack`` of each broker. All arguments may be left out. All clusters are stopped at the end of the test.
    """
    clusters: list[clusters_cluster.KafkaCluster] = []

    def start(
        brokers: int = 3, configs: "dict[str, ConfigValue] | None" = None, racks: "list[str] | None" = None
    ) -> clusters_cluster.KafkaCluster:
        cluster = clusters_cluster.KafkaCluster(tmp_path_factory.mktemp("kafka_cluster"), brokers, configs, racks)
        clusters.append(cluster)
        cluster.start()
        return cluster

    try:
        yield start
    finally:
        for cluster in clusters:
            cluster.stop()
