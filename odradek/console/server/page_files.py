"""The one page: the files of :mod:`..page` in one HTML document, with its headers.

Owns: putting style sheets and scripts into the page, the policy that lets the browser run exactly these, the compressed
form. Made once, at the start. Never does: changing a file.
"""

import base64
import gzip
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from odradek.broker.http.messages import Headers

PAGE = Path(__file__).parents[1] / "page"
STYLE = re.compile(r'<link rel="stylesheet" href="([a-z0-9_]+\.css)">')
SCRIPT = re.compile(r'<script src="([a-z0-9_]+\.js)"></script>')
SAFE_HEADERS: Headers = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
"""Of every answer."""


class PageFile(NamedTuple):
    """The page as it is sent."""

    html: bytes
    compressed: bytes
    """The same, by gzip."""
    etag: str
    headers: Headers


def read_page(directory: Path = PAGE) -> PageFile:
    """Makes the page. Raises OSError."""
    hashes: dict[str, list[str]] = {"style": [], "script": []}

    def inlined(kind: str, file_name: str) -> str:
        text = (directory / file_name).read_text(encoding="utf-8")
        assert f"</{kind}" not in text.lower(), f"{file_name} would end its element"
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
        return f"<{kind}>{text}</{kind}>"

    page = (directory / "page.html").read_text(encoding="utf-8")
    page = STYLE.sub(lambda found: inlined("style", found[1]), page)
    page = SCRIPT.sub(lambda found: inlined("script", found[1]), page)
    html = page.encode()
    etag = f'"{hashlib.sha256(html).hexdigest()[:32]}"'
    headers = (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Security-Policy", policy(hashes["style"], hashes["script"])),
        ("Cache-Control", "no-cache"),
        ("ETag", etag),
        ("Vary", "Accept-Encoding"),
    )
    return PageFile(html, gzip.compress(html, 9, mtime=0), etag, headers)


def policy(styles: list[str], scripts: list[str]) -> str:
    """The Content-Security-Policy: these style sheets and scripts, requests to this console, nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(scripts) or chr(39) + 'none' + chr(39)}",
            f"style-src {' '.join(styles) or chr(39) + 'none' + chr(39)}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        )
    )
