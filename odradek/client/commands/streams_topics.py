"""The names of the topics that Kafka Streams creates. Source: ``StreamsResetter.matchesInternalTopicFormat``."""

import re

INTERNAL = re.compile(
    r".*(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic)"
    r"|.+-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic"
)


def is_internal(topic: str, application_id: str) -> bool:
    """Whether the application has created the topic, as far as the name says: it begins with the application's id."""
    return topic.startswith(f"{application_id}-") and INTERNAL.fullmatch(topic) is not None
