"""The configs of a broker, requested as in kafka-python's own tests."""

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from odradek.testing import InProcessBroker


def test_kafka_python_finds_the_static_configs_of_a_broker(kafka: InProcessBroker) -> None:
    """The answer passes ``test_describe_configs_broker_resource_returns_configs`` of kafka-python for Kafka 4."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    described = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, 1)], config_filter="static")
    admin.close()
    assert list(described) == ["broker"]
    advertised = described["broker"]["1"]["advertised.listeners"]
    assert advertised["config_source"] == "STATIC_BROKER_CONFIG"
    assert advertised["config_type"] in ("LIST", "STRING")
    assert advertised["read_only"] is True
    assert advertised["is_sensitive"] is False
    assert advertised["synonyms"] == []
    assert advertised["value"] == f"PLAINTEXT://{kafka.bootstrap_servers}"
