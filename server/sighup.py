"""What SIGHUP does: the policy is read anew, and the log says what came of it."""

from __future__ import annotations

import structlog

from server.errors import ServerError
from server.ledger.analyst import Act
from server.live_pipeline import LivePipeline

_log = structlog.get_logger("noisegate.policy")


def reload_policy(pipeline: LivePipeline) -> None:
    """Reload; nothing that fails here stops the proxy, which goes on under the policy before."""
    try:
        now = pipeline.reload(Act("signal", "SIGHUP"))
    except ServerError as error:
        _log.error("policy kept", why=type(error).__name__, message=error.message, hint=error.hint)
    else:
        _log.info("policy in force", policy_hash=now.hash, changed=now.changed, weaker=list(now.weaker))
