"""A cluster of whole brokers in simulated time, with a simulated network and simulated disks."""
