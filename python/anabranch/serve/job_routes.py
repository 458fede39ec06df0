"""Routes of jobs: scenarios that run, and their results until now."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from anabranch.serve import work
from anabranch.serve.events import events, known_samples
from anabranch.serve.models import JobDetails, JobFacts, JobList, NewJob, Problem
from anabranch.serve.run_routes import BLOB, packed
from anabranch.serve.worker import apart

if TYPE_CHECKING:
    from anabranch.page import Content
    from anabranch.serve.jobs import Job, Jobs

router = APIRouter(tags=["jobs"])

NO_JOB: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no job of this id"}}
NONE: dict[int | str, dict[str, Any]] = {204: {"description": "The job has not begun, or is over and its run has all"}}
STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}, "description": "The events"}}
MOST_SAMPLES = 2**53
LEVEL = 1
"""The level of compression of samples, which are sent once."""

SIZE_BYTES = 4
"""Before the header of samples stands its size, the lowest byte first."""


@router.get("/api/jobs", summary="All jobs, the newest first")
def jobs(request: Request) -> JobList:
    """Give the progress of each job."""
    own: Jobs = request.app.state.desk.jobs
    return JobList(jobs=[job.facts() for job in own.all()], at_once=own.at_once)


@router.post("/api/jobs", summary="Run a scenario", status_code=201)
async def start(request: Request, new: NewJob) -> JobFacts:
    """Check the scenario, and run it as soon as there is room."""
    desk = request.app.state.desk
    prepared = await apart(work.prepare, desk.scenarios, new, memory=desk.jobs.memory)
    job: Job = desk.jobs.start(prepared, new.name)
    return job.facts()


@router.get("/api/jobs/{id}", summary="A job, and the header of its growing run", responses=NO_JOB)
def job(request: Request, id: str) -> JobDetails:
    """Give the progress of a job, and all data for the page but samples."""
    own = _job(request, id)
    return JobDetails(header=own.header(), job=own.facts())


@router.get("/api/jobs/{id}/data", summary="Samples of a job that runs, as arrays", responses=NO_JOB | NONE | BLOB)
def data(
    request: Request,
    id: str,
    first: Annotated[int, Query(ge=0, le=MOST_SAMPLES, description="The first sample that is wanted.")] = 0,
    count: Annotated[
        int, Query(ge=0, le=MOST_SAMPLES, description="Number of samples that the client knows.")
    ] = MOST_SAMPLES,
) -> Response:
    """Give the size of the header in four bytes, the header (``first``, ``times_s``, ``series``), and a blob."""
    samples = _job(request, id).samples
    if samples is None:
        return Response(status_code=204)
    content: Content = samples.content(first, count)
    header = json.dumps(content.header, allow_nan=False, separators=(",", ":")).encode()
    frame = len(header).to_bytes(SIZE_BYTES, "little") + header + content.blob()
    return packed(request, gzip.compress(frame, LEVEL), "application/octet-stream", {"cache-control": "no-store"})


@router.get("/api/jobs/{id}/events", summary="What happens to a job, as it happens", responses=NO_JOB | STREAM)
async def stream(
    request: Request,
    id: str,
    last_event_id: Annotated[str | None, Header(description="How many samples are known.")] = None,
) -> StreamingResponse:
    """Give server-sent events: ``progress``, ``samples``, and in the end ``done`` or ``failed``."""
    own = events(_job(request, id), known_samples(last_event_id), request.app.state.desk.is_closing.is_set)
    return StreamingResponse(own, media_type="text/event-stream", headers={"cache-control": "no-store"})


@router.delete("/api/jobs/{id}", summary="Stop a job; what there is until then is kept as a run", responses=NO_JOB)
async def stop(request: Request, id: str) -> JobFacts:
    """Call a job off; one that is over stays as it is."""
    own = _job(request, id)
    await run_in_threadpool(request.app.state.desk.jobs.stop, own)
    return own.facts()


def _job(request: Request, id: str) -> Job:
    job: Job | None = request.app.state.desk.jobs.known.get(id)
    if job is None:
        raise HTTPException(404, "there is no job of this id, or it was over long ago; /api/jobs lists those known")
    return job
