"""A wheel in an empty environment: it needs neither Rust nor Node, and gives first results within seconds."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

# Times are measured.
pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[1]
MATURIN = Path(sys.prefix) / "bin" / "maturin"
TOOLS = ("cargo", "rustc", "cc", "c++", "node", "npm")
FIRST_S = 10.0
"""How long the installation of the wheel and the first command of each kind may take."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build a wheel of the module that is compiled already, by the profile and the parts that it has."""
    built = next((file.name for file in Path(sys.prefix).glob(".built-*")), ".built-dev")
    profile, _, without = built.removeprefix(".built-").partition("-without-")
    folder = tmp_path_factory.mktemp("dist")
    options = ["--profile", profile, "--interpreter", sys.executable, "--compression-level", "1", "--out", folder]
    parts = ["--no-default-features"] if without else []
    call = [MATURIN, "build", "--locked", "--quiet", *options, *parts]
    subprocess.run(call, cwd=ROOT, check=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Unpack a source distribution."""
    folder = tmp_path_factory.mktemp("sources")
    subprocess.run([MATURIN, "sdist", "--out", folder], cwd=ROOT, capture_output=True, check=True)
    (file,) = folder.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    return folder / file.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    """Install the wheel into an empty environment with nothing else on the path; give the folder of its programs."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    versions = place / "versions.txt"
    # A wheel without a hash can only be installed where nothing has one.
    versions.write_text(re.sub(r" \\\n +--hash=\S+", "", (ROOT / "constraints.txt").read_text()))
    found = place / "bin"
    assert not [tool for tool in TOOLS if shutil.which(tool, path=str(found))]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    options = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--constraint", versions]
    # All that the wheel depends on comes from the package index; the wheel itself is installed anew, and timed.
    call = [found / "python", "-m", "pip", "install", *options, wheel]
    subprocess.run(call, env=environment | {"PATH": str(found)}, check=True)
    return found


def installed_again(programs, wheel):
    """Install the wheel alone in place of itself, without its dependencies and without the net; give the seconds."""
    call = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    began = time.monotonic()
    subprocess.run([*call, "--no-deps", "--force-reinstall", wheel], env={"PATH": str(programs)}, check=True)
    return time.monotonic() - began


@pytest.fixture(scope="module")
def user(programs, tmp_path_factory):
    """Give the start of calls of programs: a folder, and an environment that has this path alone and an empty home."""
    home = tmp_path_factory.mktemp("home")
    return {"cwd": home, "env": {"PATH": str(programs), "HOME": str(home), "LANG": "C.UTF-8"}, "text": True}


def started(programs, user, *arguments):
    """Start ``anabranch`` with arguments."""
    return subprocess.Popen([programs / "anabranch", *arguments], stdout=subprocess.PIPE, **user)


def printed(programs, user, line):
    """Give what ``anabranch`` prints with the arguments of a line, and how long it took."""
    began = time.monotonic()
    call = [programs / "anabranch", *shlex.split(line)]
    done = subprocess.run(call, capture_output=True, check=False, **user)
    assert done.returncode == 0, done.stderr
    return done.stdout, time.monotonic() - began


def test_one_wheel_is_for_every_cpython_from_3_11_on(wheel):
    assert wheel.name.startswith("anabranch-")
    assert "-cp311-abi3-" in wheel.name


def test_a_wheel_has_the_page_the_examples_and_the_licences(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "anabranch/page/template.html" in names
    assert len(names) == len(set(names))
    for kind, package in (("scenarios", "runs"), ("sweeps", "sweeps")):
        shipped = {name.rpartition("/shipped/")[2] for name in names if f"/{package}/shipped/" in name}
        assert shipped == {file.relative_to(ROOT / kind).as_posix() for file in (ROOT / kind).rglob("*.toml")}
    licences = {name.rpartition("/")[2] for name in names if "/licenses/" in name}
    assert licences == {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"}


def test_sources_have_the_built_page_and_all_that_cargo_asks_for(sources):
    page = Path("python/anabranch/page/template.html")
    assert (sources / page).read_bytes() == (ROOT / page).read_bytes()
    call = ["cargo", "metadata", "--locked", "--format-version", "1"]
    known = subprocess.run(call, cwd=sources, capture_output=True, text=True, check=False)
    assert known.returncode == 0, known.stderr


def test_the_wheel_without_its_dependencies_is_installed_within_seconds(programs, wheel, user):
    assert installed_again(programs, wheel) < FIRST_S
    assert printed(programs, user, "--version")[0].startswith("anabranch ")


def test_the_first_results_of_each_kind_take_seconds(programs, user):
    said = {}
    for line in (
        "examples",
        "solve scenarios/continent.toml --demands gravity:1Tbit/s --out runs/continent --figure continent.png",
        "run scenarios/join-and-leave.toml --out runs/join --figures",
        "report runs/join runs/continent --out report.html",
    ):
        said[line.split()[0]], took_s = printed(programs, user, line)
        assert took_s < FIRST_S, line
    assert "certified" in said["solve"]
    assert "through" in said["run"]
    assert "report.html" in said["report"]
    assert "<title>" in (user["cwd"] / "report.html").read_text(encoding="utf-8")


def test_the_server_gives_the_page(programs, user):
    (user["cwd"] / "served").mkdir()
    with started(programs, user, "serve", "served", "--port", "0") as process:
        try:
            address = re.search(r"http://\S+", process.stdout.readline())[0]
            page = urllib.request.urlopen(address, timeout=FIRST_S).read().decode()
        finally:
            process.terminate()
    assert "<title>" in page


def test_a_shared_file_is_fetched(programs, user):
    python = [programs / "python", "-c", "from anabranch import _core; print(_core.HAS_LIVE)"]
    if subprocess.run(python, capture_output=True, check=True, **user).stdout.strip() == "False":
        pytest.skip("the module was built without real connections")
    (user["cwd"] / "shared").mkdir()
    (user["cwd"] / "shared" / "letter").write_text("Dear Ada")
    with started(programs, user, "share", "shared", "--listen", "127.0.0.1:0") as process:
        try:
            url = shlex.split(process.stdout.readline())[2].replace("/?", "/letter?")
            printed(programs, user, f"fetch '{url}' --to fetched")
        finally:
            process.terminate()
    assert (user["cwd"] / "fetched").read_text() == "Dear Ada"
