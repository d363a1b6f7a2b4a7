"""What clients send to a broker and what it answers: recorded, looked at, kept in files, replayed and compared."""
