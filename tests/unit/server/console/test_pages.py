from __future__ import annotations

import ast
import base64
import hashlib
import re
from pathlib import Path

from server.console.pages import PLOT_STYLE, content_security_policy, files
from tests.unit.server.http.fakes import assert_problem, send

STATIC = Path("server") / "console" / "static"
_STYLE = re.compile(r"""`(:where\(\.\$\{\w+\}\) \{.*?)`""", re.DOTALL)
_CLASS = re.compile(r"plot-[0-9a-f]{6}")


def test_a_page_is_served_to_anybody_under_a_strict_policy() -> None:
    for path in ["/", "/admin"]:
        response = send("GET", path, authorized=False)
        assert response.status_code == 200, path
        assert response.headers["content-type"] == "text/html; charset=utf-8", path
        policy = dict(rule.split(" ", 1) for rule in response.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'", path
        assert (policy["script-src"], policy["connect-src"]) == ("'self'", "'self'"), path
        assert policy["frame-ancestors"] == "'none'", path
        assert "unsafe" not in response.headers["content-security-policy"], path
        assert response.headers["x-content-type-options"] == "nosniff", path


def test_everything_that_is_loaded_is_there_and_typed() -> None:
    for name, (content, kind) in files().items():
        response = send("GET", f"/console/{name}", authorized=False)
        assert (response.status_code, response.content) == (200, content)
        assert response.headers["content-type"] == f"{kind}; charset=utf-8"
    for page in ("index.html", "admin.html"):
        text = files()[page][0].decode()
        loaded = re.findall(r'(?:src|href)="/console/([^"]+)"', text)
        assert loaded and set(loaded) <= set(files())
        assert not re.search(r'(?:src|href)="(?:https?:)?//', text), "nothing is loaded from elsewhere"


def test_scripts_of_others_are_what_their_publishers_built() -> None:
    """By the checksums that were written down when they were taken in, and by those that browsers compare."""
    said = dict(re.findall(r"\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|", (STATIC / "vendor" / "README.md").read_text()))
    scripts = {path.name: path.read_bytes() for path in (STATIC / "vendor").glob("*.js")}
    assert scripts and said == {name: hashlib.sha256(content).hexdigest() for name, content in scripts.items()}
    for page in ("index.html", "admin.html"):
        named = re.findall(r'src="/console/vendor/([^"]+)" integrity="sha384-([^"]+)"', (STATIC / page).read_text())
        assert dict(named) == {
            name: base64.b64encode(hashlib.sha384(content).digest()).decode() for name, content in scripts.items()
        }


def test_what_is_not_there_is_a_problem() -> None:
    for path in [
        "x.js",
        "",
        "../pages.py",
        "%2e%2e/pages.py",
        "..%2fpages.py",
        "vendor",
        "vendor/README.md",
        "/etc/passwd",
    ]:
        assert_problem(send("GET", f"/console/{path}", authorized=False), 404, "08P01")


def test_what_a_browser_has_is_not_sent_again() -> None:
    first = send("GET", "/console/main.js", authorized=False)
    tag = first.headers["etag"]
    again = send("GET", "/console/main.js", authorized=False, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = send("GET", "/console/main.js", authorized=False, headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


def test_the_one_style_that_is_let_in_is_what_the_vendored_plot_writes() -> None:
    plot = files()["vendor/plot.min.js"][0].decode()
    (style,) = _STYLE.findall(plot)
    (name,) = set(_CLASS.findall(plot))
    written = ast.literal_eval('"""' + re.sub(r"\$\{\w+\}", name, style) + '"""')
    assert written == PLOT_STYLE
    assert "sha256-" in content_security_policy()


def test_who_takes_it_compressed_gets_less_and_the_same() -> None:
    sent = {
        name: send("GET", f"/console/{name}", authorized=False, headers={"Accept-Encoding": "gzip"})
        for name in files()
    }
    for name, response in sent.items():
        assert response.headers["content-encoding"] == "gzip" and response.headers["vary"] == "Accept-Encoding"
        assert response.content == files()[name][0], "httpx has unpacked it"
    plain = send("GET", "/console/main.js", authorized=False, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert int(sent["main.js"].headers["content-length"]) < len(plain.content) / 2


def test_no_folder_of_the_pages_holds_more_than_sixteen_scripts() -> None:
    folders = [folder for folder in (STATIC, *STATIC.rglob("*")) if folder.is_dir()]
    assert max(len(list(folder.glob("*.js"))) for folder in folders) <= 16


def test_every_script_of_the_pages_has_its_row_in_the_map() -> None:
    """Each stands in the table below the heading of its folder."""
    readme = (STATIC.parent / "README.md").read_text()
    parts = re.split(r"^## static/(\w+)$", readme, flags=re.MULTILINE)
    rooms = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    for path in STATIC.rglob("*.js"):
        room = "" if path.parent == STATIC else path.parent.name
        if room != "vendor":
            assert f"`{path.name}`" in rooms[room], path


def test_the_pages_are_not_part_of_the_api() -> None:
    paths = send("GET", "/openapi.json", authorized=False).json()["paths"]
    assert not {path for path in paths if not path.startswith("/v1/")} - {"/health", "/ready", "/metrics"}
