"""``odradek storage adopt``: serves the log directories of a dead broker whose cluster metadata is lost."""
