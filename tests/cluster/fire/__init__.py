"""What only the fire of a cluster uses; ``support/fire/`` has what it shares with the fire of one broker."""
