"""What consumer groups and share groups have in common: their topics, epochs, and the input of assignors.

Pure. Never does: deciding for a group of either kind. Source: ``org.apache.kafka.coordinator.group.modern``.
"""
