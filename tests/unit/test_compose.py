"""docker-compose.yml: both services have health checks, and no secret is written into it.

Read line by line, so that the test needs neither Docker nor a YAML parser.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES = ("database", "proxy")


def block(name: str, within: str = TEXT) -> str:
    """The lines below `name:` that are indented deeper than it."""
    match = re.search(rf"^( *){re.escape(name)}:[^\n]*\n((?:\1 +[^\n]*\n|[ \t]*\n)+)", within, re.MULTILINE)
    assert match is not None, f"there is no {name}"
    return match[2]


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_has_a_health_check(service: str) -> None:
    check = block("healthcheck", block(service, block("services")))
    for setting in ("test:", "interval:", "timeout:", "retries:"):
        assert setting in check


def test_there_are_no_other_services() -> None:
    assert tuple(re.findall(r"^  (\w+):$", block("services"), re.MULTILINE)) == SERVICES


def test_every_secret_must_be_set_from_outside() -> None:
    settings = re.findall(r"^ +(\w*(?:PASSWORD|SECRET|TOKEN|KEY)\w*): *(.*)$", TEXT, re.MULTILINE)
    assert {name for name, _ in settings} == {"POSTGRES_PASSWORD", "NOISEGATE_ROLE_PASSWORD", "PGPASSWORD"}
    for name, value in settings:
        assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name} must be required, with no default"


def test_no_password_hides_in_a_url() -> None:
    assert not re.search(r"://[^/\s@]*:[^/\s@]*@", TEXT)
    assert "trust" not in TEXT


def test_the_proxy_knows_only_the_role_that_may_select() -> None:
    proxy = block("proxy", block("services"))
    assert "POSTGRES_PASSWORD" not in proxy
    assert "postgresql://noisegate@database/" in proxy
    grants = re.findall(r"GRANT (.*) TO noisegate;", TEXT)
    assert {grant.split()[0] for grant in grants} == {"CONNECT", "SELECT", "USAGE"}


def test_the_proxy_waits_for_a_healthy_database_and_serves_this_machine_only() -> None:
    proxy = block("proxy", block("services"))
    assert "condition: service_healthy" in proxy
    published = re.findall(r'^ +- "([\d.:]+:8432)"', proxy, re.MULTILINE)
    assert published == ["127.0.0.1:8432:8432"]


def test_what_the_image_copies_exists() -> None:
    copied = re.findall(r"^ +COPY (.*) \S+$", TEXT, re.MULTILINE)
    assert copied
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()


def test_every_image_has_an_exact_tag() -> None:
    images = re.findall(r"^ +(?:FROM|image:) (\S+)(?: AS \w+)?$", TEXT, re.MULTILINE)
    foreign = [image for image in images if image != "noisegate"]
    assert {image.partition(":")[0] for image in foreign} == {"postgres", "python"}
    for image in foreign:
        assert re.fullmatch(r"postgres:\d+\.\d+-\w+|python:\d+\.\d+\.\d+-slim-\w+", image), f"{image} moves"


def test_the_image_installs_nothing_that_is_not_locked() -> None:
    fetched, installed = re.findall(r"pip (?:download|install) .*", TEXT)
    for option in ("--require-hashes", "--no-deps", "--only-binary :all:", "--requirement requirements.lock"):
        assert option in fetched
    assert fetched.split("--dest ")[1].split()[0] == installed.split("--find-links ")[1].split()[0]
    assert "--no-index" in installed
