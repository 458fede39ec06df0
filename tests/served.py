"""What tests of the server share: a folder with runs in it, and somebody who asks."""

import json
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from anabranch.serve import Settings, make_app
from labs import PROGRAM

SCENARIOS = Path(__file__).parents[1] / "scenarios"
JOIN = (SCENARIOS / "join-and-leave.toml").read_text(encoding="utf-8")
AS_JSON = {"content-type": "application/json"}
"""The headers of a body that is JSON."""

LONG = ['run.duration="1000000 s"', 'run.sample="5 s"', 'run.record=["connections","links","fairness"]']
"""Sets that make a run last for many minutes, with a sample some times a second."""


@contextmanager
def served(folder, *, token=None, scenarios=SCENARIOS, at_once=1, memory=None):
    """Give a client of a server over a folder; no answer may have the status 500."""
    app = make_app(Settings(folder, scenarios, at_once, token, memory))
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=True) as client:
        yield client


def command(*arguments, **rest):
    """Start `anabranch serve` with these arguments."""
    return subprocess.Popen(
        [*PROGRAM, "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **rest,
    )


def wait_for(client, job, *states, samples=0):
    """Wait until a job is in one of these states, with so many samples; give what is told of it then."""
    for _ in range(1200):
        facts = client.get(f"/api/jobs/{job['id']}").json()["job"]
        if facts["state"] in states and (facts["samples"] >= samples or facts["run"]):
            return facts
        time.sleep(0.05)
    raise AssertionError(f"the job is still {facts}")


def ran(client, scenario=JOIN, **rest):
    """Run a scenario to its end; give what is told of the job."""
    answer = client.post("/api/jobs", json={"scenario": scenario, **rest})
    assert answer.status_code == 201, answer.text
    return wait_for(client, answer.json(), "done", "failed")


def opened(frame):
    """Give the header of samples, and the blob."""
    size = int.from_bytes(frame[:4], "little")
    return json.loads(frame[4 : 4 + size]), frame[4 + size :]
