"""The file of topics: values, defaults, and the line of each mistake."""

import pytest

from odradek.protocol.common.topics_file import TopicsFileError, WantedTopic, read_topics, write_topics


def test_values_and_defaults() -> None:
    text = """
defaults:
  partitions: 3
  config: {min.insync.replicas: 2, cleanup.policy: delete}
topics:
  - name: orders
    partitions: 12
    config:
      retention.ms: 7d
      segment.bytes: 1GiB
      cleanup.policy: [compact, delete]
      preallocate: yes
  - name: users
    replicas: 3
  - {name: drafts, state: absent}
"""
    configs = {
        "min.insync.replicas": "2",
        "cleanup.policy": "compact,delete",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "preallocate": "true",
    }
    assert read_topics(text) == [
        WantedTopic("orders", 6, False, 12, None, configs),
        WantedTopic("users", 13, False, 3, 3, {"min.insync.replicas": "2", "cleanup.policy": "delete"}),
        WantedTopic("drafts", 15, is_absent=True),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "line 1: the file is empty; it needs 'topics:'"),
        ("topic:\n- name: a\n", "line 1: 'topic' is unknown; it can be defaults, topics"),
        ("topics:\n  a: 1\n", "line 2: topics must be a list: '- name: orders'"),
        ("topics:\n- orders\n", "line 2: 'key: value' is expected here"),
        ("topics:\n- partitions: 3\n", "line 2: a topic needs a 'name:'"),
        (
            "topics:\n- name: a/b\n",
            "line 2: 'a/b' can't be a topic's name: letters, digits, '.', '_' and '-', at most 249",
        ),
        (
            "topics:\n- name: a\n  partition: 3\n",
            "line 3: 'partition' is unknown; it can be name, state, partitions, replicas, config",
        ),
        ("topics:\n- name: a\n  partitions: 0\n", "line 3: partitions is '0'; it must be a number from 1 on"),
        ("topics:\n- name: a\n  state: gone\n", "line 3: state is 'gone'; it can be present, absent"),
        ("topics:\n- name: a\n- name: a\n", "line 3: the topic a is in line 2, too"),
        ("topics:\n- name: a\n  name: b\n", "line 3: 'name' is there twice"),
        (
            "topics:\n- name: a\n  config:\n    retention.ms: 7 fortnights\n",
            "line 4: retention.ms is '7 fortnights'; its unit can be ms, s, m, h, d, w",
        ),
        ("topics: [\n", "line 2: expected the node content, but found '<stream end>'"),
        ("topics:\n- name: a\n  config: [1]\n", "line 3: 'key: value' is expected here"),
    ],
)
def test_a_mistake_names_its_line(text: str, error: str) -> None:
    with pytest.raises(TopicsFileError) as raised:
        read_topics(text)
    assert str(raised.value) == error


def test_what_is_written_is_read() -> None:
    topics = [WantedTopic("a", 0, False, 3, 1, {"retention.ms": "-1"}), WantedTopic("on", 0, False, 1, 1, {})]
    assert [topic._replace(line=0) for topic in read_topics(write_topics(topics))] == topics
