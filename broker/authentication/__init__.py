"""The broker's side of authentication: states, mechanisms, sessions (``SaslServerAuthenticator``)."""
