"""What the server is asked happens in processes of their own: whatever these take or break, it goes on."""

import json
import multiprocessing
import os
import re
import resource
import signal
import time
import urllib.request
from pathlib import Path
from threading import BoundedSemaphore

import pytest

from anabranch import _core
from anabranch.folder import new_folder
from anabranch.memory import room_bytes
from anabranch.runs.simulate import held_interrupts
from anabranch.serve.child import NICE, SPARE_BYTES, Child, ChildError
from labs import PAIR
from served import AS_JSON, JOIN, LONG, command, ran, served, wait_for
from test_memory import WINDOWS

pytestmark = pytest.mark.slow

MANY = PAIR + '[[traffic]]\ncount = 2000000\nprotocol = "d-slen"\nfrom = ["a"]\nto = ["b"]\n'
"""What takes many seconds to read."""


@pytest.fixture
def client(tmp_path):
    with served(tmp_path) as client:
        yield client


def broken(_teller):
    os.abort()


def refusing(_teller):
    raise RuntimeError("it does not want to")


def greedy(_teller):
    return len(b"1" * (4 << 30))


def patient(teller):
    with held_interrupts() as interrupts:
        teller.tell("there")
        end = time.monotonic() + 60
        while not interrupts.came and time.monotonic() < end:
            time.sleep(0.01)
    return "stopped" if interrupts.came else "slept"


def niceness(_teller):
    return os.nice(0), os.getsid(0) == os.getpid()


def rooms(_teller):
    """Give what the child may take by its own account, and what the limit on its addresses leaves."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return room_bytes(), limit - _core.memory_in_use()[1] - SPARE_BYTES


def dying(_teller, _scenario, place, _threads):
    """Begin to write a run, and be killed."""
    with new_folder(place) as aside:
        (aside / "connections.parquet").write_text("1", encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)


def reading(_teller, _scenario, _place, _threads):
    """Read a scenario for so long that nobody waits for it."""
    time.sleep(60)


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (broken, "its process was ended by SIGABRT, most likely since it took more memory than there is"),
        (refusing, "it does not want to"),
        (greedy, "MemoryError"),
    ],
)
def test_a_child_that_breaks_says_why(work, words):
    child = Child(work, memory="1GB")
    with pytest.raises(ChildError, match=words):
        child.answer(30.0)
    child.close()


def test_a_child_stops_when_it_is_told_to():
    child = Child(patient)
    assert child.heard(30.0) == ("there", None)
    child.stop()
    assert child.answer(30.0) == "stopped"
    child.close()


def test_a_child_that_takes_too_long_is_ended():
    child = Child(patient)
    assert child.answer(0.1) is None
    child.close()
    assert child.process.exitcode == -signal.SIGKILL


def test_a_child_is_nice_and_has_a_session_of_its_own():
    child = Child(niceness)
    nice, leads = child.answer(30.0)
    child.close()
    assert (nice - os.nice(0), leads) == (min(NICE, 19 - os.nice(0)), True)


def test_what_a_child_may_take_is_taken_of_the_free_memory_once():
    child = Child(rooms)
    room, left = child.answer(30.0)
    child.close()
    assert room == pytest.approx(left, rel=0.02, abs=100e6)


def test_a_job_whose_process_is_killed_has_failed_and_the_next_one_runs(client, tmp_path):
    job = client.post("/api/jobs", json={"scenario": JOIN, "sets": LONG}).json()
    wait_for(client, job, "running", samples=2)
    [process] = multiprocessing.active_children()
    os.kill(process.pid, signal.SIGKILL)
    failed = wait_for(client, job, "failed")
    assert "its process was ended by SIGKILL" in failed["error"]
    assert list(tmp_path.iterdir()) == []
    assert ran(client, name="next")["state"] == "done"


def test_a_job_that_is_killed_while_it_writes_leaves_nothing(client, tmp_path, monkeypatch):
    monkeypatch.setattr("anabranch.serve.work.run", dying)
    assert "its process was ended by SIGKILL" in ran(client)["error"]
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_is_stopped_while_its_scenario_is_read_ends_soon(client, tmp_path, monkeypatch):
    monkeypatch.setattr("anabranch.serve.work.run", reading)
    monkeypatch.setattr("anabranch.serve.jobs.TO_BEGIN_S", 0.2)
    job = client.post("/api/jobs", json={"scenario": JOIN}).json()
    wait_for(client, job, "running")
    begin = time.monotonic()
    client.delete(f"/api/jobs/{job['id']}")
    assert wait_for(client, job, "stopped", "failed", "done")["state"] == "stopped"
    assert time.monotonic() - begin < 30
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_server_has_left_is_removed_when_the_next_one_starts(tmp_path):
    left, fresh, other = (tmp_path / name for name in (".0123456789abcdef", ".1123456789abcdef", ".mine"))
    for folder in (left, fresh, other):
        (folder / ".run.x").mkdir(parents=True)
    for folder in (left, other):
        os.utime(folder, (0, 0))
    with served(tmp_path):
        assert sorted(tmp_path.iterdir()) == [fresh, other]


def test_what_takes_too_much_memory_is_refused_before_it_runs(tmp_path):
    with served(tmp_path, memory="2GB") as client:
        answer = client.post("/api/jobs", json={"scenario": WINDOWS})
        assert answer.status_code == 422
        assert re.search(r"would take some 6 GB of memory.*lower `run.transport.first_window`", answer.json()["error"])
        checked = client.post("/api/check", json={"scenario": WINDOWS}).json()
        assert (checked["right"], "6 GB" in checked["problem"]["error"]) == (False, True)


def test_a_scenario_that_cannot_be_read_in_time_is_refused_and_its_process_ended(client, monkeypatch):
    # The first child waits until the process that makes children has loaded everything.
    assert client.post("/api/check", json={"scenario": JOIN}).status_code == 200
    monkeypatch.setattr("anabranch.serve.worker.MOST_S", 0.3)
    answer = client.post("/api/check", json={"scenario": MANY})
    assert (answer.status_code, "cannot be read in 0.3 s" in answer.text) == (422, True)
    assert multiprocessing.active_children() == []


def test_what_finds_no_place_to_be_read_is_refused_as_such(client, monkeypatch):
    monkeypatch.setattr("anabranch.serve.worker.MOST_S", 0.3)
    monkeypatch.setattr("anabranch.serve.worker._places", BoundedSemaphore(0))
    begin = time.monotonic()
    answer = client.post("/api/check", json={"scenario": JOIN})
    assert (answer.status_code, "the server is busy" in answer.json()["error"]) == (503, True)
    assert time.monotonic() - begin < 30


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks for processes in /proc")
def test_nothing_is_left_of_a_server_that_is_killed(tmp_path):
    server = command(tmp_path, "--port", "0")
    try:
        address = re.search(r"http://\S+", server.stdout.readline())[0]
        body = json.dumps({"scenario": JOIN, "sets": LONG}).encode()
        request = urllib.request.Request(f"{address}api/jobs", body, AS_JSON)
        assert urllib.request.urlopen(request).status == 201
        end = time.monotonic() + 60
        while len(beneath(server.pid)) < 3 and time.monotonic() < end:
            time.sleep(0.05)
        family = beneath(server.pid)
        # The process that makes children, one that looks after what they share, and the job.
        assert len(family) == 3
    finally:
        server.kill()
        server.communicate()
    end = time.monotonic() + 60
    while any(map(is_alive, family)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_alive, family))


def beneath(pid):
    """Give the processes that a process has begun, and those that these have."""
    found = [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and parent_of(entry) == pid]
    return found + [other for own in found for other in beneath(own)]


def parent_of(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
