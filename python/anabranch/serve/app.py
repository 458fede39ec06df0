"""The application: the state of the server and all its routes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from threading import Event
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from anabranch.errors import ScenarioError
from anabranch.page import report_html
from anabranch.serve import job_routes, page_routes, run_routes, scenario_routes
from anabranch.serve.card import Cards
from anabranch.serve.guard import Guard
from anabranch.serve.jobs import Jobs
from anabranch.serve.models import Problem
from anabranch.serve.runs import Runs
from anabranch.serve.scenarios import Scenarios, problem_of, scenarios_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp

REFUSALS = {
    400: "The body cannot be read as JSON",
    401: "The token is missing or wrong",
    403: "The page that asks belongs to another server",
    405: "There is no such method here",
    413: "The body is too long",
    415: "The body is not said to be JSON",
    421: "The host in the address is not this computer",
    422: "The request is wrong: what, where, and what would do",
    503: "Too many requests are under way",
}
"""Error answers of every route, by status."""

NO_JSON = (
    "the body cannot be read as JSON; send text in UTF-8, not deeper than a scenario is, and whole numbers below 2^63"
)

FASTAPI_NO_JSON = "There was an error parsing the body"
"""FastAPI's message for a body that is not JSON; it does not say what a right body is."""

PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""The content of all refusals, also on routes whose answers are not JSON."""

DESCRIPTION = "Runs of a folder, the scenarios that they may begin from, and the jobs that become runs."


@dataclass(frozen=True)
class Settings:
    """The settings of a server.

    Attributes
    ----------
    folder : Path
        Where runs are, and where those of jobs go.
    scenarios : Path, optional
        Where scenario files are.
    at_once : int
        Number of jobs that run at a time.
    token : str, optional
        The token that every request must contain.
    memory : str, optional
        The most that a job may take; 70 % of what is free when it begins if not given.
    """

    folder: Path
    scenarios: Path | None = None
    at_once: int = 1
    token: str | None = None
    memory: str | None = None


@dataclass
class Desk:
    """The state that all routes share."""

    runs: Runs
    jobs: Jobs
    scenarios: Scenarios
    cards: Cards
    page: str
    is_closing: Event


def make_app(settings: Settings, is_closing: Event | None = None) -> ASGIApp:
    """Make the application.

    Parameters
    ----------
    is_closing : Event, optional
        Set when the server is about to end, so that streams of events end too.

    Raises
    ------
    ScenarioError
        The page was not built.
    """
    desk = Desk(
        Runs(settings.folder),
        Jobs(settings.folder, settings.at_once, settings.memory),
        scenarios_of(settings.scenarios, settings.folder),
        Cards(),
        report_html([]),
        is_closing or Event(),
    )

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        desk.is_closing.set()
        await run_in_threadpool(desk.jobs.close)

    app = FastAPI(
        title="anabranch",
        version=version("anabranch"),
        description=DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses={status: {"description": words, "content": PROBLEM} for status, words in REFUSALS.items()},
    )
    app.state.desk = desk
    for routes in (page_routes, run_routes, scenario_routes, job_routes):
        app.include_router(routes.router)
    app.add_exception_handler(ScenarioError, _scenario_error)
    app.add_exception_handler(RequestValidationError, _wrong_request)
    app.add_exception_handler(HTTPException, _http_error)
    return Guard(app, token=settings.token)


def _answer(status: int, problem: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(problem.model_dump(exclude_none=True), status, headers=headers)


async def _scenario_error(_request: Request, error: Exception) -> JSONResponse:
    return _answer(422, problem_of(error))


async def _wrong_request(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    words = f"{where}: {first['msg']}" if where else str(first["msg"])
    return _answer(422, Problem(error=words.encode("utf-8", "replace").decode()))


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    match error.status_code:
        case 400 if error.detail == FASTAPI_NO_JSON:
            words = NO_JSON
        case 405:
            words = f"{request.method} is not served here; there is {headers['Allow']}"
        case _:
            words = str(error.detail)
    return _answer(error.status_code, Problem(error=words), headers)
