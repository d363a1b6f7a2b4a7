"""The names of pytest's options that choose the broker of the fixture ``kafka``."""

ADDRESS_OPTION = "--kafka-bootstrap-servers"
"""The broker at an address."""
IMAGE_OPTION = "--kafka-image"
"""A broker in a container of an image."""
