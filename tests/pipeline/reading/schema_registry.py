"""A schema registry for tests: the part of Confluent's protocol that serializers and deserializers use.

    with SchemaRegistry() as registry:
        registry.url

Registers schemas, and returns them by id; a protobuf schema is returned as a serialized FileDescriptorProto if the
client asks for that. It checks no compatibility.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


class SchemaRegistry:
    """The running registry. `schemas`: by id, from 1. `serialized`: of protobuf schemas, by id."""

    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []
        self.serialized: dict[int, str] = {}
        self.requests: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(registry.get(self.path))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer({"id": registry.register(body), "version": 1, "subject": "s", **body})

            def _answer(self, found: dict[str, Any] | None) -> None:
                data = json.dumps(found or {"error_code": 40403, "message": "Schema not found"}).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                registry.requests.append(self.path)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="schema-registry", daemon=True)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def register(self, schema: dict[str, Any], serialized: str | None = None) -> int:
        """The id of a schema, a new one for a new schema."""
        if schema not in self.schemas:
            self.schemas.append(schema)
        schema_id = self.schemas.index(schema) + 1
        if serialized is not None:
            self.serialized[schema_id] = serialized
        return schema_id

    def get(self, path: str) -> dict[str, Any] | None:
        """The answer to a request for a schema by its id; None if there is none."""
        parts = urlsplit(path)
        if not parts.path.startswith("/schemas/ids/"):
            return None
        schema_id = int(parts.path.rpartition("/")[2])
        if not 1 <= schema_id <= len(self.schemas):
            return None
        found = dict(self.schemas[schema_id - 1])
        if parse_qs(parts.query).get("format") == ["serialized"]:
            found["schema"] = self.serialized[schema_id]
        return found

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
