"""What an audit says of groups and committed offsets."""
