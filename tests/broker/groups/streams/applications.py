"""Kafka Streams applications of the simulator: their topologies over four source topics."""

from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as Request

SOURCES = ("s0", "s1", "s2", "s3")
TOGETHER = ("s1", "s2")
"""Source topics that must have equally many partitions."""
KINDS = ("stateless", "count", "join", "chain")


def application(group_id: str, kind: str, epoch: int = 1) -> Request.Topology:
    """The topology of one application. Its internal topics have the group's id in their names."""

    def info(name: str) -> Request.TopicInfo:
        return Request.TopicInfo(f"{group_id}-{name}", 0, 1, [Request.KeyValue("cleanup.policy", "compact")])

    def sinks(*names: str) -> list[str]:
        return [f"{group_id}-{name}" for name in names]

    both_sources = Request.CopartitionGroup([0, 1], [], [])
    source_and_repartition = Request.CopartitionGroup([0], [], [0])
    match kind:
        case "stateless":
            parts = [Request.Subtopology("0", ["s0", "s1"])]
        case "count":
            parts = [
                Request.Subtopology("0", ["s0"], repartition_sink_topics=sinks("words")),
                Request.Subtopology(
                    "1", repartition_source_topics=[info("words")], state_changelog_topics=[info("counts")]
                ),
            ]
        case "join":
            parts = [
                Request.Subtopology(
                    "0", [*TOGETHER], state_changelog_topics=[info("joined")], copartition_groups=[both_sources]
                ),
                Request.Subtopology("1", ["s3"]),
            ]
        case _:
            parts = [
                Request.Subtopology("a", ["s0"], repartition_sink_topics=sinks("first")),
                Request.Subtopology(
                    "b",
                    repartition_source_topics=[info("first")],
                    state_changelog_topics=[info("middle"), info("more")],
                    repartition_sink_topics=sinks("second"),
                ),
                Request.Subtopology(
                    "c",
                    ["s2"],
                    repartition_source_topics=[info("second")],
                    state_changelog_topics=[info("end")],
                    copartition_groups=[source_and_repartition],
                ),
            ]
    return Request.Topology(epoch, parts)
