"""Dockerfile, docker-compose.yml and deploy/: what they claim, read from them; no engine runs them here.

What a container runs is run without one in `tests/e2e/test_container_steps.py`.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from server.backends.duckdb import DuckdbLimits
from server.cli.main import app
from server.http.routes import health
from server.workers.pool import WorkerLimits

ROOT = Path(__file__).parents[2]
COMPOSE_TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
PROXY, DATABASE, BALANCER = (COMPOSE["services"][name] for name in ("proxy", "database", "balancer"))
KUBERNETES: dict[str, dict[str, Any]] = {
    document["kind"]: document for document in yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text())
}
POD = KUBERNETES["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
UNIT = ROOT / "deploy" / "noisegate.service"
USER = 10001


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with their words, comments left out and lines joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(name, words.strip()) for name, _, words in (line.partition(" ") for line in lines if line.strip())]


def of(name: str) -> list[str]:
    return [words for instruction, words in instructions() if instruction == name]


def read_as_command(words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read words as `noisegate` does, without running them; files that they name are there."""
    monkeypatch.chdir(folder)
    (folder / "policy.toml").touch()
    (folder / "file").touch()
    words = [re.sub(r"(?:/run|%d)/\S+", str(folder / "file"), word) for word in words]
    command = get_command(app)
    while isinstance(command, TyperGroup):
        found = command.get_command(typer.Context(command), words.pop(0))
        assert found is not None
        command = found
    command.make_context("noisegate", words)


def test_the_image_runs_as_a_user_without_rights_from_the_last_of_several_stages() -> None:
    known = [name for name, _ in instructions()]
    assert known.count("FROM") == 3
    last = instructions()[len(known) - 1 - known[::-1].index("FROM") :]
    assert ("USER", str(USER)) in last
    assert f"--uid {USER}" in next(words for name, words in last if name == "RUN")
    copied = [words for name, words in last if name == "COPY"]
    assert copied and all(words.startswith("--from=") for words in copied), "no source is in the image that runs"


def test_the_image_installs_nothing_that_is_not_locked() -> None:
    fetched, installed = re.findall(r"pip (?:download|install) [^&]*", " ".join(of("RUN")))
    for option in ("--require-hashes", "--no-deps", "--only-binary :all:", "--requirement requirements.lock"):
        assert option in fetched
    assert fetched.split("--dest ")[1].split()[0] == installed.split("--find-links ")[1].split()[0]
    assert "--no-index" in installed


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for words in of("COPY"):
        for name in [] if words.startswith("--from") else words.split()[:-1]:
            assert (ROOT / name).exists()
            assert f"!{name}" in ignored, name


def test_every_image_has_an_exact_tag() -> None:
    images = [words.split()[0] for words in of("FROM")] + [DATABASE["image"], BALANCER["image"]]
    for image in images:
        assert re.fullmatch(r"haproxy:\d+\.\d+\.\d+|postgres:\d+\.\d+-\w+|python:\d+\.\d+\.\d+-slim-\w+", image), (
            f"{image} moves"
        )


def test_every_service_has_a_health_check() -> None:
    assert set(COMPOSE["services"]) == {"database", "proxy", "second", "balancer"}
    for service in COMPOSE["services"].values():
        assert {"test", "interval", "timeout", "retries", "start_period"} <= service["healthcheck"].keys()
    (check,) = of("HEALTHCHECK")
    asked = json.loads(check[check.index("[") :])
    assert asked[-1].replace("'", '"') == PROXY["healthcheck"]["test"][-1]


def test_the_proxy_of_compose_is_read_only_without_rights_and_speaks_tls() -> None:
    assert PROXY["read_only"] is True and PROXY["cap_drop"] == ["ALL"] and PROXY["user"] == str(USER)
    for service in (PROXY, DATABASE, BALANCER):
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"--tls-certificate=/run/secrets/tls_certificate", "--tls-key=/run/secrets/tls_key"} <= set(
        PROXY["command"]
    )
    assert set(PROXY["secrets"]) == COMPOSE["secrets"].keys()
    assert PROXY["environment"]["NOISEGATE_HEALTH_URL"].startswith("https://127.0.0.1:8432/")
    assert all(port.startswith("${NOISEGATE_ADDRESS:-127.0.0.1}:") for port in PROXY["ports"])
    assert COMPOSE["networks"]["data"] == {"internal": True} and DATABASE["networks"] == ["data"]
    assert PROXY["depends_on"] == {"database": {"condition": "service_healthy"}}


def test_the_second_proxy_is_the_first_without_ports_and_haproxy_knows_both() -> None:
    second = COMPOSE["services"]["second"]
    assert {**second, "ports": PROXY["ports"]} == {**PROXY, "profiles": ["two"]}
    assert BALANCER["profiles"] == ["two"] and BALANCER["depends_on"].keys() == {"proxy", "second"}
    listens = {port.rpartition(":")[2] for port in PROXY["ports"]}
    assert {port.rpartition(":")[2] for port in BALANCER["ports"]} == listens
    taken = [port.split(":")[-2] for service in (PROXY, BALANCER) for port in service["ports"]]
    assert len(set(taken)) == len(taken), "two services publish one port"
    told = (ROOT / "deploy" / "haproxy.cfg").read_text()
    assert set(re.findall(r"bind :(\d+)", told)) == listens
    assert set(re.findall(r"server \w+ (\w+):(\d+)", told)) == {
        (name, port) for name in ("proxy", "second") for port in listens
    }


def test_every_secret_must_be_set_from_outside() -> None:
    secret = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY")
    settings = {
        name: value
        for service in (PROXY, DATABASE)
        for name, value in service["environment"].items()
        if secret.search(name)
    }
    assert set(settings) == {"POSTGRES_PASSWORD", "NOISEGATE_ROLE_PASSWORD", "PGPASSWORD"}
    for value in [*settings.values(), *(each["file"] for each in COMPOSE["secrets"].values())]:
        assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), "required, with no default"
    assert not re.search(r"://[^/\s@]*:[^/\s@]*@", COMPOSE_TEXT), "a password in a URL"
    assert "trust" not in COMPOSE_TEXT


def test_the_proxy_knows_only_the_role_that_may_select() -> None:
    assert "POSTGRES_PASSWORD" not in json.dumps(PROXY)
    assert PROXY["environment"]["NOISEGATE_DATABASE_URL"].startswith("postgresql://noisegate@database/")
    grants = re.findall(r"GRANT (.*) TO noisegate;", COMPOSE["configs"]["select_only_role"]["content"])
    assert {grant.split()[0] for grant in grants} == {"CONNECT", "SELECT", "USAGE"}


def test_kubernetes_runs_it_without_rights_on_a_read_only_file_system() -> None:
    context = POD["securityContext"]
    assert context["runAsNonRoot"] is True and context["runAsUser"] == USER
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    own = CONTAINER["securityContext"]
    assert own["readOnlyRootFilesystem"] is True and own["allowPrivilegeEscalation"] is False
    assert own["capabilities"] == {"drop": ["ALL"]}
    assert POD["automountServiceAccountToken"] is False


def test_kubernetes_keeps_the_ledger_and_mounts_what_it_names() -> None:
    volumes = {volume["name"]: volume for volume in POD["volumes"]}
    assert {mount["name"] for mount in CONTAINER["volumeMounts"]} == volumes.keys()
    claim = volumes["ledger"]["persistentVolumeClaim"]["claimName"]
    assert claim == KUBERNETES["PersistentVolumeClaim"]["metadata"]["name"]
    folder = next(mount["mountPath"] for mount in CONTAINER["volumeMounts"] if mount["name"] == "ledger")
    assert folder in of("WORKDIR"), "where the proxy of the image works"
    assert KUBERNETES["Deployment"]["spec"]["replicas"] == 1, "a ledger file is one machine's"


def test_what_duckdb_may_spill_has_room_under_the_folder_it_spills_to() -> None:
    (mount,) = (mount for mount in CONTAINER["volumeMounts"] if mount["mountPath"] == "/tmp")
    (volume,) = (volume for volume in POD["volumes"] if volume["name"] == mount["name"])
    spills, workers = DuckdbLimits(), WorkerLimits()
    spilled_mb = workers.workers * spills.spill_mb + workers.public_workers * spills.public.spill_mb
    gibibytes = re.fullmatch(r"(\d+)Gi", volume["emptyDir"]["sizeLimit"])
    assert gibibytes is not None and int(gibibytes[1]) * 2**30 > spilled_mb * 10**6
    assert "TMPDIR" not in {setting["name"] for setting in CONTAINER["env"]}, "the folder is the system's own"
    assert "medium" not in volume["emptyDir"], "on the node's disk: in memory it would count as the container's"


def test_the_probes_ask_for_what_the_proxy_has() -> None:
    there = {getattr(route, "path", "") for route in health.router.routes}
    ports = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = CONTAINER[probe]["httpGet"]
        assert asked["path"] in there and asked["scheme"] == "HTTPS"
        assert ports[asked["port"]] == 8432
    assert CONTAINER["readinessProbe"]["httpGet"]["path"] == "/ready"
    targets = {port["targetPort"] for port in KUBERNETES["Service"]["spec"]["ports"]}
    assert targets == ports.keys()


def test_kubernetes_lets_in_only_who_is_named_and_only_to_its_two_ports() -> None:
    policy = KUBERNETES["NetworkPolicy"]["spec"]
    labels = KUBERNETES["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items() and policy["policyTypes"] == ["Ingress"]
    (rule,) = policy["ingress"]
    assert {each["port"] for each in rule["ports"]} == {
        port["port"] for port in KUBERNETES["Service"]["spec"]["ports"]
    }
    assert rule["from"], "without it anybody may"
    for source in rule["from"]:
        assert all(selector["matchLabels"] for selector in source.values()), "an empty selector is everybody"


def unit() -> configparser.RawConfigParser:
    read = configparser.RawConfigParser(strict=False, delimiters=("=",))
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string(UNIT.read_text().replace("\\\n", " "))
    return read


def test_the_unit_is_hardened() -> None:
    said = dict(unit()["Service"])
    wanted = {"DynamicUser": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "NoNewPrivileges": "yes"}
    wanted |= {
        "CapabilityBoundingSet": "",
        "PrivateTmp": "yes",
        "PrivateDevices": "yes",
        "StateDirectoryMode": "0700",
    }
    assert wanted.items() <= said.items()
    assert said["ExecReload"] == "/bin/kill -HUP $MAINPID", "the signal at which a policy is read again"


def test_the_command_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ["image", "compose", "kubernetes", "systemd"]:
        words: dict[str, list[str]] = {
            "image": json.loads(of("CMD")[0]),
            "compose": list(PROXY["command"]),
            "kubernetes": list(CONTAINER["args"]),
            "systemd": shlex.split(unit()["Service"]["ExecStart"])[1:],
        }
        read_as_command(words[where], tmp_path, monkeypatch)


def test_the_balancer_passes_both_ports_on_and_asks_for_readiness() -> None:
    text = (ROOT / "deploy" / "haproxy.cfg").read_text(encoding="utf-8")
    ports = {port["containerPort"] for port in CONTAINER["ports"]}
    assert {int(port) for port in re.findall(r"bind :(\d+)", text)} == ports
    assert {int(port) for port in re.findall(r"server \w+ \w+:(\d+) check-ssl", text)} == ports
    assert set(re.findall(r"httpchk GET (\S+)", text)) == {"/ready"}
    assert "mode tcp" in text, "TLS ends at the proxies"
