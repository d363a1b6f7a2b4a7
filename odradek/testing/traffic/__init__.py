"""Records the requests of clients and the broker's answers, writes them to files, replays and compares them."""
