"""Logs stored configs that can't be used, once at each start."""

import logging

from ...config.definition import client_metrics_keys, group_keys, topic_keys
from ...config.stored import bad_broker_configs, bad_configs
from ...timers.log_lines import TEXT_MAX_CHARACTERS, cut, quoted
from .image import MetadataImage, ResourceType

logger = logging.getLogger(__name__)


def log_bad_configs(image: MetadataImage, node_id: int) -> None:
    """Logs an ERROR for each stored config that is invalid. Its key has the default until it is altered."""
    tables = {
        ResourceType.TOPIC: ("topic", topic_keys()),
        ResourceType.GROUP: ("group", group_keys()),
        ResourceType.CLIENT_METRICS: ("client metrics subscription", client_metrics_keys()),
    }
    for (kind, name), configs in image.configs.items():
        if kind == ResourceType.BROKER:
            # Configs of other brokers are not checked.
            bad, what = (bad_broker_configs(configs) if name in ("", str(node_id)) else ()), "broker"
        elif kind in tables:
            what, keys = tables[ResourceType(kind)]
            bad = bad_configs(keys, configs)
        else:
            continue
        for one in bad:
            logger.error(
                "stored config of %s %s: %s=%s is invalid, so the default is used: %s",
                what,
                quoted(name),
                cut(one.key, TEXT_MAX_CHARACTERS),
                quoted(one.value),
                cut(one.reason, 2 * TEXT_MAX_CHARACTERS),
            )
