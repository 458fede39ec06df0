"""How fast live mode is over the loopback: a gigabyte by `anabranch perf`, and by `anabranch share` and `fetch`.

Both ends are on this machine, so they share its processors with all that runs beside.

    python benches/live.py [BYTES]
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = [sys.executable, "-c", "from anabranch.cli import program; program()"]
PLACES = {"memory": Path("/dev/shm"), "disk": Path("/var/tmp")}
PIECE = 1 << 20


def served(*command: str | Path, home: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server, and give it with its URL."""
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    words = [*PROGRAM, *map(str, command)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert server.stdout is not None
    return server, shlex.split(server.stdout.readline())[-1]


def report(*command: str | Path) -> float:
    """Run a client, and give the rate of what it received in Mbit/s."""
    done = subprocess.run([*PROGRAM, *map(str, command), "--json"], stdout=subprocess.PIPE, check=True)
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]) / 1e6


def main() -> None:
    """Measure each once, and print a table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000_000
    load = os.getloadavg()[0]
    print(f"{size / 1e9:g} GB over loopback, {os.cpu_count()} processors, load {load:.1f} before; Mbit/s received")
    with tempfile.TemporaryDirectory(dir=PLACES["memory"]) as folder:
        home = Path(folder)
        server, url = served("perf", "--serve", "127.0.0.1:0", home=home)
        for control in ("lia", "cubic"):
            print(f"perf, {control:<24}{report('perf', url, '--amount', f'{size} B', '--control', control):8.0f}")
        server.kill()
        server.wait()
        with (home / "x").open("wb") as file:
            for _ in range(0, size, PIECE):
                file.write(os.urandom(PIECE))
        server, url = served("share", home, "--listen", "127.0.0.1:0", home=home)
        for name, place in PLACES.items():
            with tempfile.TemporaryDirectory(dir=place) as into:
                rate = report("fetch", url.replace("/?", "/x?"), "--to", Path(into) / "x")
                print(f"share and fetch, to {name:<10}{rate:8.0f}")
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
