"""The broker's side of SASL: the states of an authentication, and the mechanisms (``SaslServerAuthenticator``)."""
