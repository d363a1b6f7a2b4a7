"""Several brokers and their controllers in the test process, and the network between them."""
