"""Every text of an IP address is the same address, in quotas and in the limits of connections."""

import pytest

from odradek.broker.config.connection_limits import UNLIMITED, ConnectionLimits
from odradek.broker.network.connection_quotas import ConnectionQuotas
from odradek.broker.network.host_names import canonical, is_address
from odradek.broker.quotas.client_quota import QuotaWindows
from odradek.broker.quotas.client_quotas import CONNECTION_KEY
from odradek.broker.quotas.connection_rates import ConnectionRates
from odradek.broker.quotas.entities import IP
from odradek.protocol.security.canonical_host import canonical_host, network_of

FORMS = [
    ("0:0:0:0:0:0:0:1", "::1"),
    ("2001:DB8::0A", "2001:db8:0:0:0:0:0:a"),
    ("::ffff:10.0.0.1", "10.0.0.1"),
    ("10.0.0.1", "0:0:0:0:0:ffff:0a00:0001"),
]


@pytest.mark.parametrize(("given", "client"), FORMS)
def test_limits_for_an_address_hold_in_every_form(given: str, client: str) -> None:
    rates = ConnectionRates(QuotaWindows(11, 1000))
    entity = ((IP, given),)
    rates.update({entity: {CONNECTION_KEY: 5.0}}, [entity], {})
    assert rates.limit(client) == 5.0
    assert any(rates.delay_ms(client, 0) for _ in range(100))
    rates.update({}, [entity], {})
    assert rates.limit(client) is None

    quotas = ConnectionQuotas()
    unlimited = ConnectionLimits(UNLIMITED, UNLIMITED)
    quotas.limit(
        unlimited, {}, protected=None, max_connections_per_ip=1000, max_connections_per_ip_overrides={given: 1}
    )
    assert [quotas.admit(client, "PLAINTEXT") for _ in range(2)] == [True, False]


def test_what_is_not_an_address_stays_as_it_is() -> None:
    for text in ("*", "localhost", "a:b", "", "1.2.3", "10.0.0.0/8", "::1/128"):
        assert canonical_host(text) == text
        assert not is_address(text)
        assert canonical(text) is None


def test_a_network_is_what_one_client_may_have_all_addresses_of() -> None:
    assert network_of("2001:db8:0:1::5") == network_of("2001:db8:0:1:ffff::") != network_of("2001:db8:0:2::5")
    assert network_of("10.0.0.1") == network_of("::ffff:10.0.0.1") != network_of("10.0.0.2")
    assert network_of("fe80::1%eth0") == network_of("fe80::2%eth0")
    assert network_of("a:b") == "a:b"
