"""The commands of ``odradek storage`` that need the broker's configuration or the cluster metadata."""
