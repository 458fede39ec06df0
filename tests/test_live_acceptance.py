"""What live mode is held to: real packets over links of known capacity, real peers that die, and hostile ones.

Where the kernel refuses a lab, what needs one is skipped; a lab that was late is repeated once. The simulator answers
the same questions in virtual time.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import shlex
import socket
import subprocess
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anabranch as ab
from anabranch import _core
from anabranch.transfer.fetch import fetch
from labs import PROGRAM, RED, emulate, measured_bps, python, refusal, serve_perf, sharer

if TYPE_CHECKING:
    from collections.abc import Callable

MB = 1_000_000
SIZE, LONG = 48 * MB, 120 * MB
CONTROLS = ("reno", "cubic", "uncoupled", "lia", "olia", "balia", "wvegas", "nmcc")
COUPLED = ("lia", "olia", "balia", "nmcc")
IN_LABS = ("cubic", "lia", "nmcc", "wvegas")
"""Controls that fill two paths in real time; the others meet real packets where coupled ones are beside Reno."""

TWO_PATHS = """
[defaults.link]
queue = "100 packets"
[[link]]
name = "slow"
source = "west"
target = "east"
capacity = "20 Mbit/s"
delay = "10 ms"
[[link]]
name = "fast"
source = "west"
target = "east"
capacity = "50 Mbit/s"
delay = "10 ms"
[[connection]]
name = "both"
source = "west"
target = "east"
links = [["slow"], ["fast"]]
"""
BOTH = ("10.0.0.2=10.0.0.1", "10.0.1.2=10.0.1.1")

FETCH = """
import json, sys, time
from pathlib import Path
from anabranch.transfer.fetch import fetch
control, via, *names = sys.argv[1:]
urls = []
for name in names:
    while not (url := Path(name).read_text() if Path(name).exists() else "").endswith("\\n"):
        time.sleep(0.01)
    urls.append(url.split("'")[1].replace("/?", "/x?"))
states = []
def tell(state):
    received = [path["received_bytes"] for source in state.sources for path in source["paths"]]
    states.append((state.time_s, state.brought_bytes, received))
    Path("brought").write_text(str(state.brought_bytes))
fetch(urls, "x", control=control, via=via.split(",") if via else [], progress=tell)
Path("states").write_text(json.dumps(states))
"""
"""Fetches from the sharers that wrote their URLs into these files, and keeps how far it was every tenth of a second."""

MPTCP = """
import json, socket, subprocess, sys, time
from pathlib import Path
IPPROTO_MPTCP, size = 262, int(sys.argv[2])
if sys.argv[1] == "send":
    subprocess.run("ip mptcp limits set subflow 4", shell=True, check=True)
    subprocess.run("ip mptcp endpoint add 10.0.1.1 dev lab0 signal", shell=True, check=True)
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
    made.bind(("", 7000))
    made.listen()
    Path("ready").touch()
    made.accept()[0].sendall(bytes(size))
    time.sleep(60)
subprocess.run("ip mptcp limits set subflow 4 add_addr_accepted 4", shell=True, check=True)
while not Path("ready").exists():
    time.sleep(0.01)
made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
begin = time.monotonic()
made.connect(("10.0.0.1", 7000))
states, there = [], 0
while there < size:
    there += len(made.recv(1 << 16))
    if not states or time.monotonic() - begin > states[-1][0] + 0.1:
        states.append((time.monotonic() - begin, there, []))
Path("states").write_text(json.dumps(states))
"""
"""One connection of the kernel's multipath TCP, which sends nothing but zeros."""

PERF = """
import json, sys, time
from pathlib import Path
from anabranch import _core
while not (url := Path("url").read_text() if Path("url").exists() else "").endswith("\\n"):
    time.sleep(0.01)
wanted, seconds = json.loads(sys.argv[1]), float(sys.argv[2])
running = {
    name: _core.Perf.measure(url.strip().replace("HOST", host), via, control, False, seconds, None, 8, None)
    for name, control, host, via in wanted
}
reports = {}
while len(reports) < len(running):
    for name in running.keys() - reports.keys():
        told = running[name].wait(0.01)
        if told and told[0] == "measured":
            reports[name] = json.loads(told[2])
Path("reports").write_text(json.dumps(reports))
"""
"""Measures under several names at a time: control, host, and from where."""

State = tuple[float, int, list[int]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a file."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "x").write_bytes(random.Random(1).randbytes(SIZE))
    return folder


@pytest.fixture(scope="module")
def shared_long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a longer one."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "x").write_bytes(random.Random(1).randbytes(LONG))
    return folder


def states_of(folder: Path) -> list[State]:
    """Read how far a fetch was, and when."""
    states: list[State] = json.loads((folder / "states").read_text())
    return states


def digest(path: Path) -> str:
    """Give the hash of a file by other means than its fetcher's."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rate_mbps(states: list[State], begin_s: float, share: float = 0.95) -> float:
    """Give the mean rate from a time until so much of the file is there: what comes last is not all of it."""
    last = states[-1][1]
    first = next(state for state in states if state[0] >= begin_s)
    until = [state for state in states if state[1] <= share * last][-1]
    assert until[0] - first[0] > 1, "there is too little to measure"
    return 8e-6 * (until[1] - first[1]) / (until[0] - first[0])


def longest_stall_s(states: list[State]) -> float:
    """Give the longest time in which nothing came."""
    moments = [states[0][0]] + [now[0] for before, now in pairwise(states) if now[1] > before[1]]
    return max(later - earlier for earlier, later in pairwise(moments))


@pytest.fixture(scope="module")
def kernel_mbps(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Give what multipath TCP of the kernel has over the same links; 0 where there is none."""
    folder = tmp_path_factory.mktemp("kernel")
    if refusal() is not None or not Path("/proc/sys/net/mptcp/enabled").exists():
        return 0.0
    serve = [("west", python(folder, MPTCP, "send", str(SIZE)))]
    emulate(folder, TWO_PATHS, at={"east": python(folder, MPTCP, "take", str(SIZE))}, serve=serve)
    return rate_mbps(states_of(folder), SETTLED_S)


SETTLED_S = 1.5
"""After so long slow start is over, and both paths are open."""

DELAY_BASED = ("wvegas",)
"""These need longer to settle. They drain a queue now and then, and have all again after a second or two: it takes ten
to see what they have in the mean.
"""


def settled_s(control: str) -> float:
    """Say from when on rates count."""
    return SETTLED_S * (2 if control in DELAY_BASED else 1)


@pytest.mark.parametrize("control", IN_LABS)
def test_two_paths_fill_both_links(
    lab: None, folder: Path, shared: Path, shared_long: Path, kernel_mbps: float, control: str
) -> None:
    shared = shared_long if control in DELAY_BASED else shared
    fetcher = python(folder, FETCH, control, ",".join(BOTH), "url")
    emulate(folder, TWO_PATHS, at={"east": fetcher}, serve=[("west", sharer(shared, "10.0.0.1"))])
    assert digest(folder / "x") == digest(shared / "x")
    rate = rate_mbps(states_of(folder), settled_s(control))
    print(f"{control}: {rate:.1f} Mbit/s, multipath TCP of the kernel {kernel_mbps:.1f}")
    assert rate >= 0.9 * 70
    assert rate >= 0.95 * kernel_mbps


LASTS_S = 45
SETTLES_S = 5


def bottlenecks(controls: tuple[str, ...], packet: str = "") -> str:
    """Give a scenario with a link of 20 Mbit/s for each control: two paths of it beside one of Reno."""
    text = '[defaults.link]\nqueue = "100 packets"\n'
    for control in controls:
        for way in range(3):
            text += f'[[link]]\nname = "{control}-{way}"\nsource = "west"\ntarget = "at-{control}"\n'
            text += 'capacity = "1 Gbit/s"\ndelay = "1 ms"\n'
        text += f'[[link]]\nname = "{control}"\nsource = "at-{control}"\ntarget = "east"\n'
        text += f'capacity = "20 Mbit/s"\ndelay = "10 ms"\n{RED}\n'
    for control in controls:
        for name, protocol, ways in ((control, control, (0, 1)), (f"beside-{control}", "reno", (2,))):
            links = json.dumps([[f"{control}-{way}", control] for way in ways])
            text += f'[[connection]]\nname = "{name}"\nsource = "west"\ntarget = "east"\n'
            text += f'protocol = "{protocol}"\n{packet}links = {links}\n'
    return text


# NMCC shares growth and not losses, so with losses at random two subflows have 2 sqrt(1/2) = 1.41 times what one has:
# each grows by 1/2 packet in a round trip and halves at each loss, so 1/2 = p w^2 / 2, and w is sqrt(1/2) of the one's.
# wVegas is not there: what a discipline leaves of delay decides what it has beside Reno, in the simulator too.
BOUNDS = {"lia": (0.7, 1.4), "olia": (0.7, 1.4), "balia": (0.7, 1.4), "nmcc": (1.2, 1.65), "uncoupled": (1.6, 2.5)}


def check_ratios(ratios: dict[str, float]) -> None:
    """See that coupled controls take what one flow does, and that uncoupled ones take two shares."""
    print({control: round(ratio, 2) for control, ratio in ratios.items()})
    for control, (least, most) in BOUNDS.items():
        assert least <= ratios[control] <= most, f"{control} has {ratios[control]:.2f} times what Reno has"
    assert all(ratios[control] < ratios["uncoupled"] for control in COUPLED)


def test_coupled_controls_take_no_more_than_one_flow(lab: None, folder: Path) -> None:
    controls = tuple(BOUNDS)
    wanted = []
    for at, control in enumerate(controls):
        first, second, beside = (f"10.0.{3 * at + path}" for path in range(3))
        ways = [f"{first}.1={first}.2", f"{second}.1={second}.2"]
        wanted += [
            (control, control, f"{first}.2", ways),
            (f"beside-{control}", "reno", f"{beside}.2", [f"{beside}.1"]),
        ]
    measure = python(folder, PERF, json.dumps(wanted), str(LASTS_S))
    serve = [("east", serve_perf())]
    emulate(folder, bottlenecks(controls), at={"west": measure}, serve=serve, timeout_s=LASTS_S + 60)
    reports = json.loads((folder / "reports").read_text())

    rates = {name: measured_bps(report, SETTLES_S) for name, report in reports.items()}
    check_ratios({control: rates[control] / rates[f"beside-{control}"] for control in controls})


TWO_SOURCES = (
    TWO_PATHS.replace('links = [["slow"], ["fast"]]', 'links = [["slow"]]')
    + """
[[connection]]
name = "other"
source = "north"
target = "east"
links = [["other"]]
[[link]]
name = "other"
source = "north"
target = "east"
capacity = "50 Mbit/s"
delay = "10 ms"
"""
)

AT_HALF = f"""
import os, signal, sys, time
from pathlib import Path
while not Path("brought").exists() or int(Path("brought").read_text() or 0) < {SIZE // 2}:
    time.sleep(0.01)
"""
"""Waits until half of the file is there."""


def test_a_source_that_is_killed_at_half_leaves_the_rest_to_the_other(lab: None, folder: Path, shared: Path) -> None:
    kill = python(folder, AT_HALF + 'os.kill(int(Path("pid").read_text()), signal.SIGKILL)\n')
    doomed = f"echo $$ > pid; {sharer(shared, '10.0.0.1', 'first')}"
    fetcher = python(folder, FETCH, "lia", "", "first", "second")
    serve = [("west", doomed), ("north", sharer(shared, "10.0.1.1", "second")), ("west", kill)]
    emulate(folder, TWO_SOURCES, at={"east": fetcher}, serve=serve)
    assert digest(folder / "x") == digest(shared / "x")
    states = states_of(folder)
    killed_s = next(time_s for time_s, brought, _ in states if brought >= SIZE // 2)
    rate = rate_mbps(states, killed_s + 2)
    print(
        f"beside a source that is dead: {rate:.1f} of 50 Mbit/s, no longer than {longest_stall_s(states):.1f} s silent"
    )
    assert rate >= 0.9 * 50


DOWN_S, UP_S = 3.0, 6.5

PATH_GOES_AND_COMES = TWO_PATHS.replace(
    'capacity = "50 Mbit/s"',
    f"""capacity = "50 Mbit/s"
capacity_changes = [{{ at = "{DOWN_S} s", capacity = "0 bit/s" }}, {{ at = "{UP_S} s", capacity = "50 Mbit/s" }}]""",
)


def test_a_path_that_goes_and_comes_back_is_used_again(lab: None, folder: Path, shared: Path) -> None:
    fetcher = python(folder, FETCH, "lia", ",".join(BOTH), "url")
    serve = [("west", sharer(shared, "10.0.0.1"))]
    emulate(folder, PATH_GOES_AND_COMES, at={"east": fetcher}, serve=serve)
    assert digest(folder / "x") == digest(shared / "x")
    states = states_of(folder)
    fast = [received[1] for _, _, received in states if len(received) == 2]
    # While it is down it brings nothing for a second at the least, by the tenth; then it brings much more.
    still = [at for at in range(len(fast) - 10) if fast[at + 9] - fast[at] < 10_000 and fast[at] > MB]
    print(f"no longer than {longest_stall_s(states):.1f} s silent; {(fast[-1] - fast[still[0]]) / MB:.1f} MB after")
    assert longest_stall_s(states) <= 3
    assert fast[-1] - fast[still[-1]] > 5 * MB


HOSTILE = 100_000
"""So many datagrams each server is sent by who means ill."""

MOST_GROWTH_BYTES = 64 << 20


class Server:
    """A server in a process of its own, on the loopback."""

    def __init__(self, *command: str | Path, home: Path) -> None:
        environment = os.environ | {"XDG_DATA_HOME": str(home)}
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        # A sharer prints the command to fetch with, a server of measurements its URL.
        self.url = shlex.split(self.process.stdout.readline())[-1]
        # It says of each measurement how it went, which somebody has to read.
        self.reader = threading.Thread(target=self.process.stdout.read)
        self.reader.start()

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def port(self) -> int:
        """Where it is."""
        return int(self.url.split(":")[2].split("/")[0])

    @property
    def memory_bytes(self) -> int:
        """What it has in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


def captured(server: Server, use: Callable[[str], None]) -> list[bytes]:
    """Give the datagrams that a client sends while it uses the server."""
    outer, inner = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    outer.bind(("127.0.0.1", 0))
    inner.connect(("127.0.0.1", server.port))
    sent: list[bytes] = []
    client: list[Any] = []
    over = threading.Event()

    def carry() -> None:
        while not over.is_set():
            for ready in select.select([outer, inner], [], [], 0.05)[0]:
                data, address = ready.recvfrom(1 << 16)
                if ready is outer:
                    client[:] = [address]
                    sent.append(data)
                    inner.send(data)
                elif client:
                    outer.sendto(data, client[0])

    carrier = threading.Thread(target=carry)
    carrier.start()
    use(server.url.replace(f":{server.port}/", f":{outer.getsockname()[1]}/"))
    over.set()
    carrier.join()
    outer.close()
    inner.close()
    return sent


def hostile(captured: list[bytes], rng: random.Random) -> bytes:
    """Make a datagram: of noise, with the beginning of a packet of QUIC before noise, or of what was captured."""
    kind, real = rng.randrange(5), rng.choice(captured)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 1400))
    if kind == 1:
        # An Initial packet of version 1 with connection identifiers of 8 bytes, and of no meaning.
        return b"\xc3\x00\x00\x00\x01\x08" + rng.randbytes(8) + b"\x08" + rng.randbytes(1185)
    if kind == 2:
        return real[: rng.randrange(1, len(real) + 1)]
    if kind == 3:
        place = rng.randrange(len(real))
        return real[:place] + bytes([real[place] ^ 1 << rng.randrange(8)]) + real[place + 1 :]
    return real


def fetch_all(url: str, target: Path) -> None:
    """Fetch the file, which is not to be there."""
    fetch([url.replace("/?", "/x?")], target)
    assert target.stat().st_size == MB


def perf_all(url: str) -> None:
    """Measure with a megabyte."""
    measurement = _core.Perf.measure(url, [], "lia", False, None, MB, 1, None)
    while (told := measurement.wait(20)) is not None and told[0] != "measured":
        pass
    measurement.stop()
    assert told is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["share", "perf"])
def test_hostile_datagrams_harm_no_server(kind: str, tmp_path: Path) -> None:
    rng = random.Random(5)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "x").write_bytes(rng.randbytes(MB))
    command = ("share", tmp_path / "shared", "--listen") if kind == "share" else ("perf", "--serve")
    server = Server(*command, "127.0.0.1:0", home=tmp_path)

    def use(url: str) -> None:
        if kind == "share":
            (tmp_path / "there").unlink(missing_ok=True)
            fetch_all(url, tmp_path / "there")
        else:
            perf_all(url)

    try:
        packets = captured(server, use)
        before = server.memory_bytes
        sent, answered = 0, 0
        # A thousand from an address, which never shows that it gets what is sent to it.
        for _ in range(HOSTILE // 1000):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
                stranger.connect(("127.0.0.1", server.port))
                for _ in range(1000):
                    sent += stranger.send(hostile(packets, rng))
                stranger.settimeout(0.02)
                with suppress(TimeoutError):
                    while True:
                        answered += len(stranger.recv(1 << 16))
        use(server.url)
        grown = server.memory_bytes - before
        print(f"{kind}: {answered / sent:.3f} bytes back for each, {grown / 2**20:.1f} MiB more in memory")
        assert server.process.poll() is None
        assert answered <= 3 * sent
        assert grown < MOST_GROWTH_BYTES
    finally:
        server.end()


def simulated(scenario: str) -> ab.Result:
    """Run a scenario twice in virtual time, and see that both runs are the same to the last bit."""
    first, second = (ab.run(scenario, seed=1) for _ in range(2))
    assert first.series.equals(second.series)
    assert first.subflows.equals(second.subflows)
    return first


COUPLING = [control for control in CONTROLS if control not in {"reno", "cubic"}]
"""Reno and CUBIC serve one path in a scenario; Reno on each of several is what uncoupled is."""


@pytest.mark.parametrize(
    ("control", "parameters"), [*((name, "") for name in COUPLING), ("wvegas", 'drain = "steady"')]
)
def test_two_paths_fill_both_links_in_virtual_time(control: str, parameters: str) -> None:
    protocol = f'[defaults.connection]\nprotocol = {{ {control} = {{ {parameters} }} }}\npacket = "1480 B"\n'
    settled = f'[run]\nduration = "6 s"\nwarm_up = "{settled_s(control)} s"\n'
    result = simulated(TWO_PATHS + protocol + settled)
    assert result.connections["mean_rate_bps"].sum() >= 0.9 * 70e6


def test_coupled_controls_take_no_more_than_one_flow_in_virtual_time() -> None:
    run = f'[run]\nduration = "{2 * LASTS_S} s"\nwarm_up = "{SETTLES_S} s"\n'
    result = simulated(bottlenecks(tuple(BOUNDS), 'packet = "1480 B"\n') + run)
    rates = dict(result.connections.select(pl.col("connection"), pl.col("mean_rate_bps")).iter_rows())
    check_ratios({control: rates[control] / rates[f"beside-{control}"] for control in BOUNDS})
