"""What tests share."""

import shutil
import signal
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright

import anabranch as ab
from anabranch import _core
from labs import refusal

# Machines halt for a moment now and then: what is generated has all the time it takes, and what a page is to show too.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")
expect.set_options(timeout=30_000)

# Programs keep ignoring a signal that was ignored when they were started, as by `nohup` or a shell in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(ignored, signal.SIG_DFL)

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, which lies beside the checkout and not in it."""
    if not SHARED.is_dir():
        pytest.skip(f"the public data sets are not there: {SHARED}")
    return SHARED


LIVE_KINDS = ("acceptance", "from_sources", "marks", "sources")

LIVE = ("test_fetch", "test_live", "test_perf", *(f"test_live_{kind}" for kind in LIVE_KINDS))
"""Modules whose tests need real connections."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Labs send real packets in real time: nothing else may run beside them. Live tests need a live part."""
    for item in items:
        if not _core.HAS_LIVE and item.path.stem in LIVE:
            item.add_marker(pytest.mark.skip(reason="this build has no live part"))
        if "lab" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.alone)


@pytest.fixture(scope="session")
def lab() -> None:
    """A kernel that lets labs be; tests that want one are skipped where it refuses."""
    reason = refusal()
    if reason is not None:
        pytest.skip(f"the kernel refuses a lab: {reason}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give where programs of a lab run."""
    made = tmp_path / "lab"
    made.mkdir()
    return made


@pytest.fixture
def instance(shared_data):
    """Give a function that reads a network with its demands as a problem."""

    def read(name, demand):
        place = shared_data / "te" / f"{name}.npz"
        if not place.exists():
            pytest.skip(f"the network is not there: {place}")
        with np.load(place) as arrays:
            counts = np.diff(arrays["conn_ptr"])
            return ab.Problem(
                arrays["link_capacity"],
                arrays["path_ptr"],
                arrays["path_links"],
                np.repeat(np.arange(len(counts)), counts),
                demand=arrays[f"conn_demand_{demand}"],
            )

    return read


ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
"""Of chromium: it draws by the processor alone, and asks for nothing of its own accord."""


@pytest.fixture(scope="module")
def browser():
    """A browser to open pages in; tests that want one are skipped where there is none.

    It is closed with each module: while it is there, nothing else in this thread can have an event loop.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium; install Debian's package of that name")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_file(browser):
    """Give a function that opens a report; in the end, nothing may have been complained of or asked for."""
    troubles, contexts = [], []

    def opened(file, *, width=1280, dark=False, hash="", touch=False):
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=size, color_scheme=scheme, has_touch=touch))
        page = contexts[-1].new_page()
        address = f"file://{file}"
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("blob:", address)) or troubles.append(request.url))
        page.goto(address + hash)
        page.wait_for_selector("article")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
