"""The page below a path of a reverse proxy, with and without a slash at the end of its address."""

from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest

from support.chromium import Tab

pytestmark = pytest.mark.ci
HOP = {"connection", "transfer-encoding", "content-length"}


@pytest.fixture
def proxy(address: str) -> Iterator[str]:
    """The address of a proxy that passes ``/below/…`` on, without ``/below``."""
    console = urlsplit(address)

    class Passing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.passed(None)

        def do_POST(self) -> None:
            self.passed(self.rfile.read(int(self.headers["Content-Length"])))

        def passed(self, body: bytes | None) -> None:
            connection = HTTPConnection(console.hostname or "", console.port or 0)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            path = self.path.removeprefix("/below") or "/"
            connection.request(self.command, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Passing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/below"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("end", ["", "/"])
def test_the_page_below_a_path(open_tab: Callable[[str], Tab], proxy: str, end: str) -> None:
    tab = open_tab(proxy + end)
    tab.wait("document.querySelectorAll('tbody tr').length > 5")
    tab.go("#/topics/orders?record=1%3A0")
    tab.wait("document.querySelector('dialog a[download]')")
    download = tab.run("document.querySelector('dialog a[download]').href")
    assert download.startswith(f"{proxy}/api/topics/orders/partitions/1/records/0/download")
    tab.close()
