"""The pages themselves."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from anabranch.serve.pages import policy, routes_page

router = APIRouter(tags=["page"])


@router.get("/", summary="The page over all runs", response_class=HTMLResponse)
def page(request: Request) -> HTMLResponse:
    """Send the page, which requests its data."""
    text = request.app.state.desk.page
    return HTMLResponse(text, headers={"content-security-policy": policy(text), "cache-control": "no-cache"})


@router.get("/api/docs", summary="This list of routes", response_class=HTMLResponse)
def docs(request: Request) -> HTMLResponse:
    """Send the routes for people; `/api/openapi.json` has them for programs."""
    text = routes_page(request.app.openapi())
    return HTMLResponse(text, headers={"content-security-policy": policy(text)})
