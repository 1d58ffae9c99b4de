"""GET /health: the process serves. Waits for nothing: no key, no thread, no database, no ledger."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

router = APIRouter()


class HealthBody(BaseModel):
    """A sign of life."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok", "version": "0.1.0"}]})

    status: Literal["ok"]
    version: str


@router.get("/health")
async def health(request: Request) -> HealthBody:
    """Whether the proxy serves."""
    return HealthBody(status="ok", version=request.app.version)
