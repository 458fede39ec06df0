"""Routes of the runs in the folder."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Request, Response

from anabranch.errors import ScenarioError
from anabranch.serve import changes
from anabranch.serve.card import run_card
from anabranch.serve.models import Changes, Problem, RunFacts, RunList, Trashed, TrashList
from anabranch.serve.names import address

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.serve.runs import Prepared, Runs

router = APIRouter(tags=["runs"])

NONE = "there is no run of this id; /api/runs lists those that there are"
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


@router.get("/api/runs/{id}/card", summary="A run at a glance: numbers, and a small picture", responses=NO_RUN | SAME)
def card(request: Request, id: str) -> Response:
    """Give the head line of a run, or the summary of an allocation, and the picture that the page draws."""
    desk = request.app.state.desk
    etag = desk.runs.etag(id)
    if etag is None:
        raise HTTPException(404, NONE)
    headers = {"etag": etag, "cache-control": "private, no-cache"}
    if etag in (part.strip() for part in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    made: bytes = desk.cards.card(f"run {id}", etag, run_card, desk.runs.root, id)
    return Response(made, media_type="application/json", headers=headers)


@router.post("/api/runs/{id}", summary="Give a run another title, or its folder another name", responses=NO_RUN)
def change(request: Request, id: str, own: Changes) -> RunFacts:
    """Change a run; its id changes with the folder."""
    desk = request.app.state.desk
    folder = _folder(request, id)
    if own.title is not None:
        changes.set_title(folder, own.title)
    if own.folder is not None:
        folder = changes.rename(folder, own.folder, desk.jobs.names())
    return _facts(request, address(folder.relative_to(desk.runs.root).parts))


@router.delete("/api/runs/{id}", summary="Move a run into the trash", responses=NO_RUN)
def delete(request: Request, id: str) -> Trashed:
    """Move the folder aside; nothing of it is removed before the trash is emptied."""
    root = request.app.state.desk.runs.root
    number = changes.trash(root, _folder(request, id))
    return next(own for own in changes.trashed(root).runs if own.id == number)


@router.get("/api/trash", summary="The runs in the trash")
def trashed(request: Request) -> TrashList:
    """Give where they were, and how much room they take."""
    return changes.trashed(request.app.state.desk.runs.root)


@router.post(
    "/api/trash/{id}",
    summary="Bring a run back from the trash",
    responses={404: {"model": Problem, "description": "There is no run of this number in the trash"}},
)
def restore(request: Request, id: str) -> RunFacts:
    """Move the folder to where it was, under a new name if something has that by now."""
    desk = request.app.state.desk
    folder = changes.restore(desk.runs.root, id, desk.jobs.names())
    if folder is None:
        raise HTTPException(404, "there is no run of this number in the trash; /api/trash lists those that there are")
    return _facts(request, address(folder.relative_to(desk.runs.root).parts))


@router.delete("/api/trash", summary="Empty the trash, for good")
def empty(request: Request) -> TrashList:
    """Remove all runs in the trash; give what is left there."""
    root = request.app.state.desk.runs.root
    changes.empty(root)
    return changes.trashed(root)


def _folder(request: Request, id: str) -> Path:
    folder = changes.run_folder(request.app.state.desk.runs.root, id)
    if folder is None:
        raise HTTPException(404, NONE)
    return folder


def _facts(request: Request, id: str) -> RunFacts:
    found: RunList = request.app.state.desk.runs.list()
    facts = next((run for run in found.runs if run.id == id), None)
    if facts is None:
        raise ScenarioError("it was changed, and is no whole run; look at the list of folders that cannot be shown")
    return facts


def _part(request: Request, id: str, kind: str, of: Any) -> Response:
    """Send a part of a run as it is held, or that it has not changed."""
    runs: Runs = request.app.state.desk.runs
    etag = runs.etag(id)
    if etag is None:
        raise HTTPException(404, NONE)
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
