"""The log of the daemon: one line for each event, as text or as JSON, on standard error."""

import json
import logging
import sys
import time

TEXT_FORMAT = "[%(asctime)s,%(msecs)03d] %(levelname)s %(message)s (%(name)s)"
"""As Kafka's own log looks: [2026-01-31 23:59:59,999] INFO … (where)."""


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and the exception where there is one."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        """The line of one event."""
        line = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up_logging(level: str, form: str) -> None:
    """Sends the log to standard error. ``level``: debug, info, warning or error; ``form``: text or json."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(TEXT_FORMAT, "%Y-%m-%d %H:%M:%S"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
