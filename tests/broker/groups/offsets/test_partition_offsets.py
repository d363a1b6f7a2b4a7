"""The compact mapping of partitions to committed offsets behaves like a dictionary."""

from random import Random

import pytest

from odradek.broker.groups.offsets.partition_offsets import CommittedOffset, PartitionOffsets

TOPIC_IDS = (bytes(16), b"t" * 16)
LONGEST = (1 << 63) - 1
HIGHEST_INT32 = (1 << 31) - 1


def some_offset(chance: Random) -> CommittedOffset:
    return CommittedOffset(
        chance.choice((0, 1, chance.randrange(1 << 40), LONGEST)),
        chance.choice((-1, 0, 7, HIGHEST_INT32)),
        chance.choice(("", "", "noted")),
        chance.choice((-1, 0, 1_700_000_000_000)),
        chance.choice((-1, -1, 1_800_000_000_000)),
        chance.choice(TOPIC_IDS),
        chance.randrange(1 << 40),
    )


@pytest.mark.parametrize("seed", range(20))
def test_it_is_a_dictionary_in_the_order_of_partitions(seed: int) -> None:
    chance = Random(seed)
    compact, model = PartitionOffsets(), dict[int, CommittedOffset]()
    partitions = [*range(12), 1000, HIGHEST_INT32]
    for _ in range(400):
        partition = chance.choice(partitions)
        if chance.random() < 0.6:
            compact[partition] = model[partition] = some_offset(chance)
        else:
            assert compact.pop(partition, None) == model.pop(partition, None)
        assert list(compact.items()) == sorted(model.items())
        assert len(compact) == len(model)
        assert compact.get(partition) == model.get(partition)
        assert (partition in compact) == (partition in model)
        if model:
            assert compact.oldest_commit_ms == min(committed.commit_timestamp_ms for committed in model.values())
            has_expiry = any(committed.expire_timestamp_ms != -1 for committed in model.values())
            assert compact.brings_expiry or not has_expiry


def test_what_is_not_there() -> None:
    compact = PartitionOffsets()
    assert not compact
    with pytest.raises(KeyError):
        compact[0]
    with pytest.raises(KeyError):
        del compact[0]


def test_an_offset_takes_few_bytes() -> None:
    import sys

    compact = PartitionOffsets()
    for partition in range(1_000):
        compact[partition] = CommittedOffset(partition, -1, "", 1_700_000_000_000, -1, bytes(16), partition)
    assert sys.getsizeof(compact._rows) < 1_000 * 40
    assert compact._unshared is None
    assert not compact.brings_expiry
