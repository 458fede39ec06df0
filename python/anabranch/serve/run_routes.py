"""Routes of the runs in the folder."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Request, Response

from anabranch.serve.models import Problem, RunList

if TYPE_CHECKING:
    from anabranch.serve.runs import Prepared, Runs

router = APIRouter(tags=["runs"])

NO_RUN: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no run of this id"}}
SAME: dict[int | str, dict[str, Any]] = {304: {"description": "It is what If-None-Match says"}}
BLOB: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}, "description": "The blob"}}


@router.get("/api/runs", summary="All runs of the folder, and the folders that are none")
def runs(request: Request) -> RunList:
    """List the folder; unchanged runs are not read again."""
    found: RunList = request.app.state.desk.runs.list()
    return found


@router.get(
    "/api/runs/{id}", summary="The header of a run: what the page shows but for samples", responses=NO_RUN | SAME
)
def header(request: Request, id: str) -> Response:
    """Give plain values; `series` says what the blob has at which byte."""
    return _part(request, id, "application/json", lambda run: run.header)


@router.get("/api/runs/{id}/data", summary="The samples of a run, as arrays", responses=NO_RUN | SAME | BLOB)
def data(request: Request, id: str) -> Response:
    """Give the blob that the header describes."""
    return _part(request, id, "application/octet-stream", lambda run: run.blob)


def _part(request: Request, id: str, kind: str, of: Any) -> Response:
    """Send a part of a run as it is held, or that it has not changed."""
    runs: Runs = request.app.state.desk.runs
    etag = runs.etag(id)
    if etag is None:
        raise HTTPException(404, "there is no run of this id; /api/runs lists those that there are")
    headers = {"etag": etag, "cache-control": "private, no-cache", "vary": "accept-encoding"}
    if etag in (part.strip() for part in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    run: Prepared = runs.prepared(id, etag)
    return packed(request, of(run), kind, headers)


def packed(request: Request, content: bytes, kind: str, headers: dict[str, str]) -> Response:
    """Send data packed with gzip, or unpacked to clients that do not accept gzip."""
    takes = (part.partition(";") for part in request.headers.get("accept-encoding", "").split(","))
    if any(name.strip() in ("gzip", "*") and rest.strip() != "q=0" for name, _, rest in takes):
        return Response(content, media_type=kind, headers=headers | {"content-encoding": "gzip"})
    return Response(gzip.decompress(content), media_type=kind, headers=headers)
