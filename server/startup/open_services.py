"""Start the proxy's parts from a policy file, and refuse what is unsafe before anything listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import structlog
from fastapi import FastAPI

from planner.examine_views import check_declared_views
from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy
from planner.policy.validate import validate
from planner.schema import Schema
from server.backends.backend import Backend
from server.backends.open_custody import open_policy_custody
from server.errors import BackendUnavailable, ConfigurationInvalid
from server.http.app import create_app
from server.ledger.account import DATASET
from server.ledger.analyst import Act
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from server.ledger.question_texts import QuestionKeys
from server.pipeline import Pipeline
from server.policy.accepted_policy import Change, PolicyFile, accept, policy_changes
from server.policy.data_versions import note_first
from server.policy.dataset_budget import dataset_budget
from server.policy.open_ledger_of_policy import open_policy_ledger
from server.policy.public_ranges import with_public_ranges
from server.policy.secrets import resolve
from server.policy.verified_keys import verify_keys
from server.reloadable_pipeline import ReloadablePipeline
from server.startup.mirror import MirrorSchedule, open_mirror, refreshing
from server.workers.kernel_compiler import compile_kernels
from server.workers.measure import measure
from server.workers.pool import WorkerLimits, WorkerPool
from server.workers.public_reads import PublicReads, public_limits

_STARTUP_STATEMENT_MS = 10_000
_SOON_S = 1.0
_NO_TIMEOUT_MS = 0  # counting takes as long as the tables are large

_log = structlog.get_logger("noisegate.policy")


@dataclass(frozen=True)
class Services:
    """The running parts.

    Attributes:
      pipeline: under the policy in force, which it can reload.
      crashed: reservations that an earlier run left open; their charges stand.
      pools: the workers, which start meanwhile.
    """

    ledger: Ledger
    pipeline: ReloadablePipeline
    app: FastAPI
    crashed: tuple[Reservation, ...]
    pools: tuple[WorkerPool, ...] = ()

    def warm(self) -> None:
        """Wait until the workers are ready. Raises: as `WorkerPool.warm`."""
        for pool in self.pools:
            pool.warm()


@dataclass(frozen=True)
class Prepared:
    """A policy that fits its database."""

    file: PolicyFile
    schema: Schema
    backend: Backend
    url: str = field(repr=False)

    def ranged(self) -> Policy:
        """The policy with the ranges of public columns. Cost: as `with_public_ranges`."""
        return with_public_ranges(self.file.policy, self.schema, self.backend)


@contextmanager
def open_services(
    policy_path: Path, limits: WorkerLimits = WorkerLimits(), announce: Callable[[str], None] = lambda _: None
) -> Iterator[Services]:
    """Check everything, compile what this machine has not compiled yet, and start the workers (`Services.warm`).

    Raises: ConfigurationInvalid, PolicyInvalid, PolicyWeakened, BackendUnavailable, UnsafeRole, LedgerMissing,
      LedgerInvalid.
    """
    prepared = prepare(policy_path)
    keys = question_keys(prepared.file.policy, policy_path.parent)  # refused before anything is opened
    compile_kernels(announce)
    ledger = open_policy_ledger(prepared.file.policy, policy_path)
    database_s = prepared.file.policy.database_limits.seconds
    reader = type(prepared.backend).__module__  # an argument of every call
    workers = WorkerPool(limits.beside(database_s), measure.__module__, reader)
    public_workers = WorkerPool(public_limits(limits), PublicReads.__module__, reader)
    stack = ExitStack()
    try:
        accept(Change.to(prepared.file, prepared.schema, ledger), ledger, Act("proxy", "start"))
        shared = check_keys(prepared, ledger, Act("proxy", "start"))
        if shared is not None:
            announce(f"warning: {shared}; questions that rest on it are refused. Next: noisegate policy check")
        note_first(prepared.file.policy, policy_path, ledger, Act("proxy", "start"))
        with ThreadPoolExecutor(1) as beside:
            ranged = beside.submit(prepared.ranged)
            if not wait((ranged,), _SOON_S).done:
                announce("reading the ranges of public columns")
        crashed = ledger.recover()
        if crashed:
            announce(f"a crash interrupted {len(crashed)} queries; their charges stand")
        file = prepared.file
        other_budget = dataset_budget(file.policy, ledger.accounts())
        if other_budget is not None:
            announce(f"warning: {DATASET}: {other_budget.message}. Next: {other_budget.next_step}")
        mirror = open_mirror(file.policy, prepared.schema, prepared.url, policy_path.parent, ledger)
        public = PublicReads(public_workers)
        parts = (ranged.result(), prepared.schema, prepared.backend, ledger, workers)
        first = Pipeline(*parts, public=public, mirror=mirror, question_keys=keys)
        pipeline = ReloadablePipeline(first, partial(_renew, policy_path), partial(policy_changes, policy_path))
        if mirror is not None:
            schedule = MirrorSchedule(lambda: pipeline.current.policy, mirror, refreshing(policy_path))
            schedule.start()
            stack.callback(schedule.stop)
        yield Services(ledger, pipeline, create_app(pipeline, ledger), crashed, (workers, public_workers))
    finally:
        stack.close()
        workers.close()
        public_workers.close()
        ledger.close()


def prepare(policy_path: Path) -> Prepared:
    """Read a policy and compare it with its catalog and role.

    Raises: ConfigurationInvalid, PolicyInvalid, BackendUnavailable, UnsafeRole.
    """
    file = PolicyFile.read(policy_path)
    url = resolve(file.policy.database_url, policy_path.parent)
    with open_policy_custody(file.policy, url, _STARTUP_STATEMENT_MS) as custody:
        custody.refuse_unsafe_role()
        schema = custody.schema(file.policy.namespaces).declaring(file.policy.tables)
        backend = custody.backend
    validate(file.policy, schema)
    check_declared_views(file.policy, schema)
    schema = with_declared_keys(schema, file.policy)
    return Prepared(file, schema, backend, url)


def question_keys(policy: Policy, folder: Path) -> QuestionKeys | None:
    """The keys that encrypt question texts, if the policy names any. Raises: ConfigurationInvalid."""
    named = policy.question_key_file
    return None if named is None else QuestionKeys.read(folder / named)


def check_keys(prepared: Prepared, ledger: Ledger, act: Act) -> str | None:
    """Count the declared keys, unless the ledger has a record for this data version.

    Returns: which keys several rows share; None if all hold.
    Raises: BackendUnavailable, BackendFailed.
    Cost: one sort of the table per key.
    """
    policy = prepared.file.policy
    with open_policy_custody(policy, prepared.url, _NO_TIMEOUT_MS) as custody:
        if custody.schema(policy.namespaces).version != prepared.schema.version:
            raise BackendUnavailable("the database's files changed during the check", hint="try again")
        shared = verify_keys(custody, prepared.schema, ledger, act)
    what = "several rows share" if not prepared.schema.version else "several rows share, or have no"
    return f"{what} {', '.join(shared)}, which the policy declares as a key" if shared else None


def _renew(policy_path: Path, before: Pipeline, act: Act, confirmed: str | None) -> tuple[Pipeline, tuple[str, ...]]:
    """The pipeline under the current policy, after the same checks as at the start."""
    prepared = prepare(policy_path)
    policy, schema = prepared.ranged(), prepared.schema
    if policy.ledger_path != before.policy.ledger_path:
        raise ConfigurationInvalid(
            "ledger.path can only change with a restart", hint="restart the proxy; the old policy stays in force"
        )
    if policy.database_limits.seconds > before.policy.database_limits.seconds:
        hint = "restart the proxy; the old policy stays in force"
        raise ConfigurationInvalid("database.seconds can only be raised with a restart", hint=hint)
    keys = question_keys(policy, policy_path.parent)  # refused before anything is accepted
    shared = check_keys(prepared, before.ledger, act)
    if shared is not None:
        _log.warning("keys shared", message=f"{shared}; no question that rests on them is answered")
    note_first(policy, policy_path, before.ledger, act)
    weaker = accept(Change.to(prepared.file, schema, before.ledger), before.ledger, act, confirmed)
    mirror = open_mirror(policy, schema, prepared.url, policy_path.parent, before.ledger)
    renewed = replace(
        before, policy=policy, schema=schema, backend=prepared.backend, mirror=mirror, question_keys=keys
    )
    return renewed, weaker
