"""The commands of ``odradek storage`` that know configurations and metadata."""
