"""The attacks on pages like this one, each with its test: rebinding, other pages, cookies, markup, size, nesting."""

import base64
import hashlib
import json
import logging
import random
import re
from collections.abc import Iterator

import pytest

from odradek.console.context import ViewRoute
from odradek.console.routes import ROUTES
from odradek.console.server.app import MAX_BODY_BYTES
from odradek.console.server.login import OPEN, PASSWORD, ConsoleAccess

from .console_client import ConsoleClient
from .served_app import NOWHERE, SECRET, Calls, served_app

PATHS = ("/", "/api/session", "/api/session/end", "/api/things/a", "/api/things", "/api/count", "/api/none", "/none")


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def port(calls: Calls) -> Iterator[int]:
    with served_app(calls) as number:
        yield number


@pytest.fixture
def client(port: int) -> ConsoleClient:
    """Logged in."""
    made = ConsoleClient(port)
    assert made.log_in(token=SECRET).status == 200
    return made


# DNS rebinding


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "", "10.0.0.1", "[::2]"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_each_path_refuses_a_foreign_name(client: ConsoleClient, calls: Calls, host: str, method: str) -> None:
    """A rebound page sends its own name as Host, and an Origin that equals it."""
    name = host.format(port=client.port)
    for path in PATHS:
        answer = client.send(method, path, b"{}", {"Host": name, "Origin": f"http://{name}"})
        assert answer.status == 421, path
        assert answer.json["code"] == "HOST_NOT_ALLOWED"
    assert calls.seen == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:{port}", "127.0.0.1"])
def test_names_of_this_machine_are_answered(client: ConsoleClient, host: str) -> None:
    assert client.get("/api/things/a", Host=host.format(port=client.port)).status == 200


def test_other_names_are_configured(calls: Calls) -> None:
    with served_app(calls, host_names=("kafka.example",)) as port:
        client = ConsoleClient(port)
        assert client.get("/", Host="kafka.example").status == 200
        assert client.get("/", Host="kafka.example.evil").status == 421
        assert client.get("/", Host="10.1.2.3").status == 421


def test_a_listener_on_every_interface_is_asked_by_address(calls: Calls) -> None:
    with served_app(calls, listener_host="0.0.0.0") as port:
        client = ConsoleClient(port)
        assert client.get("/", Host="10.1.2.3:80").status == 200
        assert client.get("/", Host="[fe80::1]:80").status == 200
        assert client.get("/", Host="evil.example").status == 421


# Requests of other pages


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": None},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:{other}"},
        {"Origin": "http://localhost:{port}"},
        {"X-Odradek-Console": None},
        {"X-Odradek-Console": "0"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_comes_from_the_own_page(client: ConsoleClient, calls: Calls, headers: dict[str, str | None]) -> None:
    told = {
        name: None if text is None else text.format(port=client.port, other=client.port + 1)
        for name, text in headers.items()
    }
    for path in ("/api/things", "/api/session", "/api/session/end"):
        answer = client.send("POST", path, b'{"name":"a"}', told)
        assert (answer.status, answer.json["code"]) == (403, "CROSS_SITE"), path
    assert calls.seen == []
    assert client.get("/api/things/a").status == 200, "the session goes on"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_a_change_is_json(client: ConsoleClient, calls: Calls, kind: str | None) -> None:
    answer = client.send("POST", "/api/things", b'{"name":"a"}', {"Content-Type": kind})
    assert answer.status == 415
    assert calls.seen == []


def test_what_other_pages_ask_for_is_refused(client: ConsoleClient, calls: Calls) -> None:
    answer = client.get("/api/things/a", Sec_Fetch_Site="cross-site")
    assert answer.status == 403
    assert calls.seen == []
    for site in ("same-origin", "none"):
        assert client.get("/api/things/a", Sec_Fetch_Site=site).status == 200


def test_no_answer_lets_other_origins_read_it(client: ConsoleClient) -> None:
    for method in ("GET", "POST", "OPTIONS", "PUT", "PATCH"):
        for path in PATHS:
            answer = client.send(method, path, b"{}" if method == "POST" else None, {"Origin": "http://evil.example"})
            assert not any(name.lower().startswith("access-control-") for name in answer.headers)


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "HEAD"])
def test_other_methods_change_nothing(client: ConsoleClient, calls: Calls, method: str) -> None:
    assert client.send(method, "/api/things").status == 405
    assert calls.seen == []


def test_a_get_never_changes(client: ConsoleClient, calls: Calls) -> None:
    assert client.get("/api/things").json["code"] == "METHOD_NOT_ALLOWED"
    assert calls.seen == []


# Sessions


def test_nothing_but_the_page_and_the_login_is_shown_without_a_session(port: int, calls: Calls) -> None:
    client = ConsoleClient(port)
    for path in ("/api/things/a", "/api/fails?kind=kafka", "/api/count", "/api/none"):
        assert client.get(path).json["code"] == "NO_SESSION"
    assert client.post("/api/things", {"name": "a"}).json["code"] == "NO_SESSION"
    assert calls.seen == []
    assert client.get("/").status == 200
    facts = client.get("/api/session").json
    assert facts["session"] is False
    assert SECRET not in json.dumps(facts)
    assert "127.0.0.1:1" not in json.dumps(facts), "addresses are for sessions"


def test_every_route_of_the_console_needs_a_session() -> None:
    """Of the real table: there is one way in, and no route beside it."""
    with served_app(RealCalls()) as port:
        client = ConsoleClient(port)
        for route in ROUTES:
            path = re.sub(r"\{\w+\}", "a", route.path)
            asked = client.get(path) if route.method == "GET" else client.post(path, {})
            assert (asked.status, asked.json["code"]) == (401, "NO_SESSION"), route
            assert client.send(route.method, path, b"{}", {"Host": "evil.example"}).status == 421


class RealCalls(Calls):
    """The console's own routes."""

    def routes(self) -> tuple[ViewRoute, ...]:
        return ROUTES


@pytest.mark.parametrize("token", ["", "x", SECRET[:-1], SECRET + "x", "ä", "\ud800"])
def test_a_wrong_token_opens_nothing(port: int, token: str) -> None:
    client = ConsoleClient(port)
    answer = client.log_in(token=token)
    assert (answer.status, answer.json["code"]) == (401, "LOGIN_FAILED")
    assert client.cookie == ""


def test_the_cookie_is_out_of_reach(port: int) -> None:
    client = ConsoleClient(port)
    answer = client.log_in(token=SECRET)
    cookie = answer.headers["Set-Cookie"]
    assert {part.strip() for part in cookie.split(";")[1:]} == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert SECRET not in cookie
    assert len(cookie.partition("=")[2].partition(";")[0]) >= 43  # 32 random bytes


def test_a_session_ends(client: ConsoleClient) -> None:
    cookie = client.cookie
    answer = client.post("/api/session/end", {})
    assert answer.status == 200
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    client.cookie = cookie
    assert client.get("/api/things/a").status == 401


def test_a_login_has_a_new_cookie_and_ends_the_old_session(client: ConsoleClient) -> None:
    before = client.cookie
    assert client.log_in(token=SECRET).status == 200
    assert client.cookie != before
    client.cookie = before
    assert client.get("/api/things/a").status == 401


def test_a_login_that_was_withdrawn_ends_its_session(client: ConsoleClient) -> None:
    answer = client.get("/api/fails?kind=login")
    assert (answer.status, answer.json["code"]) == (401, "AUTHENTICATION_FAILED")
    assert client.get("/api/things/a").json["code"] == "NO_SESSION"


def test_logins_and_changes_are_logged(calls: Calls, caplog: pytest.LogCaptureFixture) -> None:
    with served_app(calls, access=ConsoleAccess(PASSWORD, NOWHERE, "admin:sesame")) as port:
        client = ConsoleClient(port)
        with caplog.at_level(logging.INFO, "odradek.console"):
            client.log_in(user="admin", password="sesame")
            client.post("/api/things", {"name": "seen"})
            client.post("/api/things", {"name": "changed", "confirm": True})
    lines = [one.getMessage() for one in caplog.records if one.name.startswith("odradek.console")]
    assert lines == ["'admin' opens a session", "'admin' changes the cluster: POST '/api/things'"]


def test_a_password_is_asked_for(calls: Calls) -> None:
    access = ConsoleAccess(PASSWORD, NOWHERE, "admin:open:sesame")
    with served_app(calls, access=access) as port:
        client = ConsoleClient(port)
        for user, password in [("admin", ""), ("admin:open", "sesame:"), ("", "admin:open:sesame"), ("x", "y")]:
            assert client.log_in(user=user, password=password).status in (400, 401)
        assert client.log_in(user="admin", password="open:sesame").status == 200
        assert client.get("/api/session").json["user"] == "admin"


def test_an_open_console_still_needs_the_pages_headers(calls: Calls) -> None:
    with served_app(calls, access=ConsoleAccess(OPEN, NOWHERE)) as port:
        client = ConsoleClient(port)
        assert client.post("/api/session", {}, Origin="http://evil.example").status == 403
        assert client.get("/api/things/a").status == 401
        assert client.post("/api/session", {}).status == 200
        assert client.get("/api/things/a").status == 200


def test_a_console_that_only_shows_changes_nothing(calls: Calls) -> None:
    with served_app(calls, allows_changes=False) as port:
        client = ConsoleClient(port)
        client.log_in(token=SECRET)
        answer = client.post("/api/things", {"name": "a", "confirm": True})
        assert (answer.status, answer.json["code"]) == (403, "READ_ONLY")
        assert calls.seen == []
        assert client.get("/api/session").json["allowsChanges"] is False


# What is sent


def test_the_page_runs_its_own_script_only(client: ConsoleClient) -> None:
    answer = client.get("/")
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[name] == "'none'"
    assert policy["connect-src"] == "'self'"
    text = answer.body.decode()
    for kind in ("script", "style"):
        inline = re.findall(f"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in inline]
        assert policy[f"{kind}-src"].split() == [f"'sha256-{one}'" for one in hashes]
        assert inline
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"'](?!data:)", text), "it loads nothing"
    assert not re.search(
        r"\son\w+=", text.partition("<style>")[0] + text.partition("</style>")[2].partition("<script>")[0]
    )


def test_every_answer_has_the_safe_headers(client: ConsoleClient) -> None:
    for path in ("/", "/api/things/a", "/api/none", "/none", "/api/fails?kind=other", "/api/download", "/api/session"):
        answer = client.get(path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        if path.startswith("/api/"):
            assert answer.headers["Cache-Control"] == "no-store"


def test_the_page_is_sent_once(client: ConsoleClient) -> None:
    first = client.get("/")
    again = client.get("/", If_None_Match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    compressed = client.get("/", Accept_Encoding="gzip")
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert len(compressed.body) < len(first.body) or len(first.body) < 1000


def test_a_file_is_saved_and_not_shown(client: ConsoleClient) -> None:
    answer = client.get("/api/download")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="va_lue__X__y.html"'
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.body == b"<script>"


def test_a_fault_shows_no_details(client: ConsoleClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = client.get("/api/fails?kind=other")
    assert (answer.status, answer.json["code"]) == (500, "CONSOLE_FAULT")
    assert b"secret" not in answer.body
    assert "a secret path" in caplog.text
    assert client.get("/api/fails?kind=kafka").json == {"error": "not yours", "code": "TOPIC_AUTHORIZATION_FAILED"}
    assert client.get("/api/fails?kind=kafka").status == 403
    assert client.get("/api/fails?kind=console").status == 409


# Strange requests


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"name":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"name": NaN}',
        b'{"name": Infinity}',
        b'{"name": ' + b"9" * 10_000 + b"}",
        b'{"name": "\xff"}',
        b"\x00",
        b"[]",
        b'"name"',
        b"null",
        b'{"name": 1}',
        b'{"name": null}',
        b'{"name": ["a", "b"]}',
        b"{}",
        b"",
    ],
    ids=range(15),
)
def test_a_strange_body_is_a_bad_argument(client: ConsoleClient, calls: Calls, body: bytes) -> None:
    answer = client.send("POST", "/api/things", body)
    assert (answer.status, answer.json["code"]) == (400, "BAD_ARGUMENT")


def test_a_body_is_limited_and_not_read_without_a_session(client: ConsoleClient) -> None:
    large = json.dumps({"name": "a" * MAX_BODY_BYTES}).encode()
    assert client.send("POST", "/api/things", large).json["code"] == "TOO_LARGE"
    client.cookie = ""
    answer = client.send("POST", "/api/things", large[:200_000])
    assert answer.json["code"] == "NO_SESSION"


@pytest.mark.parametrize(
    "path",
    [
        "/api/things/%ff",
        "/api/things/a?count=-1",
        "/api/things/a?count=99999999999999999999",
        "/api/things/a?count=1e3",
        "/api/things/a?count=%C2%B2",
        "/api/things/a?count=1&count=2",
        "/api/things/a?count=%ff",
        "/api/things/a?" + "&".join(f"a{number}=1" for number in range(400)),
    ],
)
def test_a_strange_query_is_a_bad_argument(client: ConsoleClient, calls: Calls, path: str) -> None:
    answer = client.get(path)
    assert (answer.status, answer.json["code"]) == (400, "BAD_ARGUMENT")
    assert calls.seen in ([], ["show"])


def test_names_come_back_as_they_were_sent(client: ConsoleClient) -> None:
    for sent, name in [
        ("a%2Fb", "a/b"),
        ("%3Cscript%3E", "<script>"),
        ("..", ".."),
        ("%E2%82%AC", "€"),
        ("a+b", "a+b"),
    ]:
        assert client.get(f"/api/things/{sent}").json["name"] == name


def test_random_requests_never_end_the_console(client: ConsoleClient) -> None:
    chance = random.Random(7)
    pieces = [
        "/api/",
        "things",
        "/",
        "%",
        "%2F",
        "?",
        "&",
        "=",
        "{name}",
        "..",
        "\x7f",
        "a" * 200,
        "session",
        "#",
        ";",
    ]
    for _ in range(300):
        path = "/" + "".join(chance.choice(pieces) for _ in range(chance.randrange(8)))
        target = path.encode("utf-8").decode("latin-1")
        if re.search(r"[\x00-\x20\x7f]", target):
            continue
        method = chance.choice(["GET", "POST"])
        body = bytes(chance.randrange(256) for _ in range(chance.randrange(40))) if method == "POST" else None
        answer = client.send(method, target, body)
        assert answer.status in (200, 400, 401, 403, 404, 405), (method, path)
        if not client.cookie or answer.headers.get("Set-Cookie"):
            client.log_in(token=SECRET)
    assert client.get("/api/things/a").status == 200
