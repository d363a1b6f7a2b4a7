"""A model of the state of a share partition."""

from odradek.protocol.internal_records.share_batches import StateBatch


class PerOffset:
    """The state of each offset, one by one."""

    def __init__(self) -> None:
        self.states: dict[int, tuple[int, int]] = {}
        """Offset -> (delivery count, delivery state)."""

    def merge(self, batches: list[StateBatch], start_offset: int) -> None:
        for batch in batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                new = (batch.delivery_count, batch.delivery_state)
                self.states[offset] = max(self.states.get(offset, new), new)
        if start_offset != -1:
            self.states = {offset: state for offset, state in self.states.items() if offset >= start_offset}

    def batches(self) -> list[StateBatch]:
        found: list[StateBatch] = []
        for offset, (count, state) in sorted(self.states.items()):
            if found and found[-1].last_offset == offset - 1 and found[-1][2:] == (state, count):
                found[-1] = found[-1]._replace(last_offset=offset)
            else:
                found.append(StateBatch(offset, offset, state, count))
        return found
