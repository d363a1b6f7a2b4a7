"""Builds the answer to a request that failed as a whole: the error for every item, as in Kafka's request classes.

Owns: the places of errors in each API's response. Never does: I/O, deciding.

The error is set at the top level if the response has an error field there, and in the result of each topic, partition,
group and so on. Some responses have both. Source: ``AbstractRequest.getErrorResponse`` of every API,
``ApiError.fromThrowable``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.apis.table import FOREVER, StructureSpec, message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.structure import Message, Structure

ITSELF = ""
"""In ``names``: the item itself, if an item of the request is a name or a number and not a structure."""


class ItemErrors(NamedTuple):
    """A rule: for each item of the request's list ``asked``, the response's list ``answered`` gets one result.

    ``asked`` is the attribute of the list; ``a.b`` means the lists ``b`` in the items of ``a``. ``names``: attributes
    of the result -> attributes of the item. ``inner``: the rule for a list inside the item. ``values``: further
    attributes of the result. ``error``: the result's attribute for the error. ``until``: the last version with this
    rule.
    ``nameless``: the name in the result if the item has only an id.
    """

    asked: str
    answered: str
    names: Mapping[str, str]
    inner: "ItemErrors | None" = None
    values: Mapping[str, Any] = {}
    error: str = "error_code"
    until: int = FOREVER
    nameless: str | None = None


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_PARTITION = _same("partition_index")
_NUMBER = {"partition_index": ITSELF}
_RESOURCES = ItemErrors("resources", "responses", _same("resource_name", "resource_type"))
_BY_PARTITION = ItemErrors("topics", "topics", _same("name"), ItemErrors("partitions", "partitions", _PARTITION))
_SHARE_STATE = ItemErrors(
    "topics", "results", _same("topic_id"), ItemErrors("partitions", "partitions", _same("partition"))
)
_NOWHERE = {"node_id": -1, "port": -1}

RESULTS: dict[int, tuple[ItemErrors, ...]] = {
    ApiKey.PRODUCE: (
        ItemErrors(
            "topic_data",
            "responses",
            _same("name", "topic_id"),
            ItemErrors("partition_data", "partition_responses", _same("index"), values={"base_offset": -1}),
        ),
    ),
    ApiKey.FETCH: (
        ItemErrors(
            "topics",
            "responses",
            _same("topic", "topic_id"),
            ItemErrors(
                "partitions",
                "partitions",
                {"partition_index": "partition"},
                values={"high_watermark": -1, "records": b""},
            ),
            until=12,
        ),
    ),
    ApiKey.LIST_OFFSETS: (_BY_PARTITION,),
    ApiKey.METADATA: (ItemErrors("topics", "topics", _same("name", "topic_id"), nameless=""),),
    ApiKey.OFFSET_COMMIT: (_BY_PARTITION._replace(names=_same("name", "topic_id")),),
    ApiKey.TXN_OFFSET_COMMIT: (_BY_PARTITION._replace(names=_same("name", "topic_id")),),
    ApiKey.OFFSET_FETCH: (
        ItemErrors(
            "topics",
            "topics",
            _same("name"),
            ItemErrors("partition_indexes", "partitions", _NUMBER, values={"committed_offset": -1}),
            until=1,
        ),
        ItemErrors("groups", "groups", _same("group_id")),
    ),
    ApiKey.FIND_COORDINATOR: (ItemErrors("coordinator_keys", "coordinators", {"key": ITSELF}, values=_NOWHERE),),
    ApiKey.DESCRIBE_GROUPS: (ItemErrors("groups", "groups", {"group_id": ITSELF}),),
    ApiKey.CREATE_TOPICS: (ItemErrors("topics", "topics", _same("name")),),
    ApiKey.DELETE_TOPICS: (
        ItemErrors("topic_names", "responses", {"name": ITSELF}),
        ItemErrors("topics", "responses", _same("name", "topic_id")),
    ),
    ApiKey.DELETE_RECORDS: (
        ItemErrors(
            "topics",
            "topics",
            _same("name"),
            ItemErrors("partitions", "partitions", _PARTITION, values={"low_watermark": -1}),
        ),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        ItemErrors("topics", "topics", _same("topic"), ItemErrors("partitions", "partitions", _same("partition"))),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        ItemErrors(
            "v3_and_below_topics",
            "results_by_topic_v3_and_below",
            _same("name"),
            ItemErrors("partitions", "results_by_partition", _NUMBER, error="partition_error_code"),
        ),
    ),
    ApiKey.WRITE_TXN_MARKERS: (
        ItemErrors(
            "markers",
            "markers",
            _same("producer_id"),
            ItemErrors("topics", "topics", _same("name"), ItemErrors("partition_indexes", "partitions", _NUMBER)),
        ),
    ),
    ApiKey.DESCRIBE_CONFIGS: (_RESOURCES._replace(answered="results"),),
    ApiKey.ALTER_CONFIGS: (_RESOURCES,),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (_RESOURCES,),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (
        ItemErrors("dirs.topics", "results", {"topic_name": "name"}, ItemErrors("partitions", "partitions", _NUMBER)),
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (ItemErrors("users", "results", {}),),  # without names, as Kafka
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (
        ItemErrors("deletions", "results", {"user": "name"}),
        ItemErrors("upsertions", "results", {"user": "name"}),
    ),
    ApiKey.CREATE_PARTITIONS: (ItemErrors("topics", "results", _same("name")),),
    ApiKey.DELETE_GROUPS: (ItemErrors("groups_names", "results", {"group_id": ITSELF}),),
    ApiKey.ELECT_LEADERS: (
        ItemErrors(
            "topic_partitions",
            "replica_election_results",
            _same("topic"),
            ItemErrors("partitions", "partition_result", {"partition_id": ITSELF}),
        ),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (
        ItemErrors("topics", "responses", _same("name"), ItemErrors("partitions", "partitions", _PARTITION)),
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (
        ItemErrors("topics", "topics", _same("name"), ItemErrors("partition_indexes", "partitions", _NUMBER)),
    ),
    ApiKey.DESCRIBE_PRODUCERS: (
        ItemErrors("topics", "topics", _same("name"), ItemErrors("partition_indexes", "partitions", _NUMBER)),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        ItemErrors("transactional_ids", "transaction_states", {"transactional_id": ITSELF}),
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (ItemErrors("group_ids", "groups", {"group_id": ITSELF}),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (ItemErrors("topics", "topics", _same("name")),),
    ApiKey.CREATE_ACLS: (ItemErrors("creations", "results", {}),),
    ApiKey.DELETE_ACLS: (ItemErrors("filters", "filter_results", {}),),
    ApiKey.ALTER_CLIENT_QUOTAS: (
        ItemErrors("entries", "entries", {}, ItemErrors("entity", "entity", _same("entity_type", "entity_name"))),
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: (ItemErrors("group_ids", "groups", {"group_id": ITSELF}),),
    ApiKey.STREAMS_GROUP_DESCRIBE: (ItemErrors("group_ids", "groups", {"group_id": ITSELF}),),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (ItemErrors("groups", "groups", _same("group_id")),),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (_SHARE_STATE,),
    ApiKey.READ_SHARE_GROUP_STATE: (_SHARE_STATE,),
    ApiKey.WRITE_SHARE_GROUP_STATE: (_SHARE_STATE,),
    ApiKey.DELETE_SHARE_GROUP_STATE: (_SHARE_STATE,),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (_SHARE_STATE,),
}
"""API key -> rules, for responses that have errors below the top level."""

VALUES: dict[int, Mapping[str, Any]] = {
    ApiKey.FIND_COORDINATOR: _NOWHERE,
    ApiKey.INIT_PRODUCER_ID: {"producer_id": -1, "producer_epoch": -1},
    ApiKey.JOIN_GROUP: {"generation_id": -1},
    ApiKey.CREATE_DELEGATION_TOKEN: {
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "token_requester_principal_type": "User",
        "token_requester_principal_name": "ANONYMOUS",
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {"entries": None},
}
"""API key -> other top-level fields whose values in an error response differ from the defaults."""

WITH_MESSAGE = frozenset(
    {
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.UNREGISTER_CONTROLLER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    }
)
"""APIs whose error answers have a message. In the others Kafka sends none, to reveal nothing to the client."""


def error_response(api_key: int, version: int, request: Any, error: ErrorCode) -> Message | None:
    """The error response to a request of a served version; None if the client wants no response (acks=0)."""
    if api_key == ApiKey.PRODUCE and request.acks == 0:
        return None
    kind: type[Message] = api(api_key).response_class()
    response: Any = kind()
    built = BuiltResponse(kind, version, message(kind.NAME).layout(version).structures, error, api_key in WITH_MESSAGE)
    built.fill(response, kind.NAME, "error_code", VALUES.get(api_key, {}))
    if api_key == ApiKey.FETCH:
        response.session_id = request.session_id
    elif api_key == ApiKey.JOIN_GROUP:
        response.protocol_name = None if version >= 7 else ""
    for items in RESULTS.get(api_key, ()):
        if version <= items.until:
            built.answer(items, request, response, kind.NAME)
    answered: Message = response
    return answered


class BuiltResponse(NamedTuple):
    """The layout of the response that is being built, and the error for every item."""

    kind: type[Message]
    version: int
    structures: Mapping[str, StructureSpec]
    error: ErrorCode
    with_message: bool

    def fill(self, into: Structure, structure: str, error: str, values: Mapping[str, Any]) -> None:
        """Sets the error and the given values in a structure. Skips fields that the version does not have."""
        told = {**values, error: self.error, "error_message": self.error.message if self.with_message else None}
        for field in self.structures[structure].plain_fields(self.version):
            if field.attribute in told:
                setattr(into, field.attribute, told[field.attribute])

    def answer(self, items: ItemErrors, asked: Any, into: Structure, structure: str) -> None:
        """Adds a result for each requested item, if the response has the list in this version."""
        fields = self.structures[structure].plain_fields(self.version)
        element = next((field.element for field in fields if field.attribute == items.answered), None)
        if element is None:
            return
        for item in _items(asked, items.asked):
            answer: Structure = getattr(self.kind, element)()
            named = {name: item if of == ITSELF else getattr(item, of) for name, of in items.names.items()}
            if items.nameless is not None and named["name"] is None:
                named["name"] = items.nameless
            self.fill(answer, element, items.error, {**items.values, **named})
            if items.inner is not None:
                self.answer(items.inner, item, answer, element)
            getattr(into, items.answered).append(answer)


def _items(asked: Any, path: str) -> Iterator[Any]:
    """The items of the request's list at ``path`` (see :class:`ItemErrors`). A null list has no items."""
    name, _, rest = path.partition(".")
    for item in getattr(asked, name) or ():
        if rest:
            yield from _items(item, rest)
        else:
            yield item
