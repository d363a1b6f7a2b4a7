"""What the console shows: functions that ask Kafka by the client and return values for JSON.

A view knows nothing of HTTP. Numbers of 64 bits (offsets, times, sizes, producer ids) are texts, because JavaScript
would round them.
"""
