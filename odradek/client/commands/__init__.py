"""The commands that speak to a broker: one module each, imported only when the command is called."""
