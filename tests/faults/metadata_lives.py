"""Lives of the metadata log: a history of a cluster with mutated records among its own."""

import contextlib
import tempfile
from pathlib import Path

from faults.lives import NOW_MS, RECORDS_PER_LIFE, STARTS, SeededLives
from odradek.broker.metadata.image.features import levels_problem
from odradek.broker.metadata.image.image import MetadataCorruption, MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.log.snapshot import encode_snapshot
from odradek.broker.server.commands import START_ERRORS
from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS, encode_record
from odradek.protocol.messages.structure import Message
from support.brokers.metadata_service import open_service
from support.data.mutated_records import damaged_bytes
from support.data.random_metadata import MetadataHistory
from support.kafka.directory import KafkaDirectory


class MetadataLives(SeededLives):
    """Lives of ``__cluster_metadata-0``: a history of a cluster with mutated records among its own."""

    NAME = "metadata"

    def _live(self) -> None:
        image = MetadataImage()
        kept = []
        for record, version in MetadataHistory(self.random).records(RECORDS_PER_LIFE):
            value = encode_record(record, version)
            if self.random.random() < 0.5:
                value = damaged_bytes(self.random, value)
            accepted = self._accepted(image, value)
            if accepted is not None:
                kept.append(accepted)
        if levels_problem(image.features) is None:
            # A record may lower metadata.version so that a snapshot of that version cannot have everything in the
            # image.
            with contextlib.suppress(ProtocolError):
                for batch in encode_snapshot(image, 1, None, 1, NOW_MS):
                    assert batch
        self.asked += 2
        if self.random.random() < STARTS:
            with tempfile.TemporaryDirectory() as path:
                self._start_on(Path(path), kept)

    def _accepted(self, image: MetadataImage, value: bytes) -> tuple[Message, int] | None:
        """The record, if the image accepts it. Raises every exception that is not a refusal."""
        try:
            message, version = METADATA_RECORDS.decode(value)
            replay(image, message, MetadataDelta(), version)
        except (ProtocolError, MetadataCorruption, ValueError):  # ValueError: no member of an enumeration
            return None
        return message, version

    def _start_on(self, path: Path, kept: list[tuple[Message, int]]) -> None:
        """Starts the metadata twice on a log of these records: it serves, or ends with one of the errors of a start."""
        directory = KafkaDirectory(metadata=[[one] for one in kept], clean_epoch=None)
        directory.write(path)
        with contextlib.suppress(*START_ERRORS):
            for _ in range(2):
                with open_service(path, node_id=directory.node_id):
                    pass
