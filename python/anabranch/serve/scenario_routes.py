"""Routes of scenarios: their schema, the files, and checks."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from anabranch import _core
from anabranch.serve import work
from anabranch.serve.card import scenario_card
from anabranch.serve.models import CheckAnswer, Checked, Problem, ScenarioFacts, ScenarioText, Source
from anabranch.serve.worker import apart

router = APIRouter(tags=["scenarios"])


@router.get("/api/schema", summary="The JSON schema of scenarios")
def schema() -> Response:
    """Give what `anabranch check --schema` prints."""
    return Response(_core.Scenario.schema(), media_type="application/json")


@router.get("/api/scenarios", summary="The scenario files that a run may begin from")
def scenarios(request: Request) -> list[ScenarioFacts]:
    """List the folder of scenarios."""
    found: list[ScenarioFacts] = request.app.state.desk.scenarios.all()
    return found


@router.get(
    "/api/scenarios/{id}",
    summary="A scenario file, as text and as values",
    responses={404: {"model": Problem, "description": "There is no scenario file of this id"}},
)
def scenario(request: Request, id: str) -> ScenarioText:
    """Read a scenario file."""
    found: ScenarioText | None = request.app.state.desk.scenarios.one(id)
    if found is None:
        raise HTTPException(404, "there is no scenario file of this id; /api/scenarios lists those that there are")
    return found


@router.get(
    "/api/scenarios/{id}/card",
    summary="A scenario at a glance: what it has, and a picture of its network",
    responses={404: {"model": Problem, "description": "There is no scenario file of this id"}},
)
def scenario_at_a_glance(request: Request, id: str) -> Response:
    """Give facts as a check does, and the picture that the page draws."""
    desk = request.app.state.desk
    state = desk.scenarios.state(id)
    if state is None:
        raise HTTPException(404, "there is no scenario file of this id; /api/scenarios lists those that there are")
    source = Source(scenario=desk.scenarios.one(id).text, origin=id)
    made: bytes = desk.cards.card(f"scenario {id}", state, scenario_card, desk.scenarios, source)
    return Response(made, media_type="application/json")


@router.post("/api/check", summary="Whether a scenario is right; if not, what, where, and what would do")
async def check(request: Request, source: Checked) -> CheckAnswer:
    """Read a scenario as a run of it would, without running it."""
    desk = request.app.state.desk
    return await apart(work.check, desk.scenarios, source, memory=desk.jobs.memory)
