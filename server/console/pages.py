"""Serve the pages and their files, all from this server."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

router = APIRouter(include_in_schema=False)

_STATIC = Path(__file__).parent / "static"
_TYPES = MappingProxyType(
    {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
)

PLOT_STYLE = (
    ":where(.plot-d6a7b5) {\n  --plot-background: white;\n  display: block;\n  height: auto;\n"
    "  height: intrinsic;\n  max-width: 100%;\n}\n:where(.plot-d6a7b5 text),\n:where(.plot-d6a7b5 tspan) {\n"
    "  white-space: pre;\n}"
)
"""The only inline style sheet, which Observable Plot writes into a chart; the policy refuses others."""


@cache
def files() -> Mapping[str, tuple[bytes, str]]:
    """Content and type of every served file, by its path below /console."""
    found = {}
    for path in sorted(_STATIC.rglob("*")):
        kind = _TYPES.get(path.suffix)
        if path.is_file() and kind is not None:
            found[path.relative_to(_STATIC).as_posix()] = (path.read_bytes(), kind)
    return MappingProxyType(found)


@cache
def _compressed(path: str) -> bytes:
    """A file as gzip, compressed once per process. Its length reveals nothing about the user."""
    return gzip.compress(files()[path][0], mtime=0)


@cache
def content_security_policy() -> str:
    """What a page may load: only files of this server, and no inline style or script except Plot's.

    Images may be `blob:`, for charts that the page saves to a file.
    """
    digest = base64.b64encode(hashlib.sha256(PLOT_STYLE.encode()).digest()).decode()
    return (
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' blob:; "
        f"style-src 'self' 'sha256-{digest}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


@router.get("/")
async def console(request: Request) -> Response:
    """The analysts' page, `index.html`, at `/`."""
    return _file(request, "index.html")


@router.get("/admin")
async def admin(request: Request) -> Response:
    """The administrators' page, `admin.html`, at `/admin`."""
    return _file(request, "admin.html")


@router.get("/console/{path:path}")
async def file(request: Request, path: str) -> Response:
    """A file of the pages."""
    return _file(request, path)


def _file(request: Request, path: str) -> Response:
    found = files().get(path)
    if found is None:
        raise HTTPException(404)
    content, kind = found
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {
        "ETag": tag,
        "Vary": "Accept-Encoding",
        "Cache-Control": "no-cache",
        "Content-Security-Policy": content_security_policy(),
    }
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        content, headers["Content-Encoding"] = _compressed(path), "gzip"
    return Response(content, media_type=f"{kind}; charset=utf-8", headers=headers)
