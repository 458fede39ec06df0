"""Fuzz all targets for a while, two at a time: `run.py SECONDS [--live] [--keep] [TARGET ...]`.

Each target starts from its kept corpus, `corpus/TARGET`, and from what earlier runs on this machine have found. What
makes a target fail is left in `target/fuzz/failures`; the same target given that file repeats it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

FUZZ = Path(__file__).parent
BUILT = FUZZ.parent / "target" / "fuzz"
SCHEMA = FUZZ.parent / "crates" / "scenario" / "scenario.schema.json"

LIVE = ("capsules", "feedback", "flow_frames", "ip_packets", "perf_request", "rule", "socks", "url", "web")
"""Targets of the crates `live` and `proxy`, which take as long to compile as all others together."""

READERS = ("topology", "demands", "recording", "sweep")
"""Targets in Python."""

LIMITS = ("-timeout=60", "-rss_limit_mb=2048", "-max_len=4096")
"""A minute for an input, since machines halt; two gigabytes, of which a reader takes 200 megabytes to begin with."""

HASH = re.compile(r"[0-9a-f]{40}")
"""What libFuzzer calls a file."""

LINES = 30
"""Of what a target says, shown if it fails."""


def main() -> int:
    """Build, run, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, help="for all targets together")
    parser.add_argument("targets", nargs="*", help="all if none is given")
    parser.add_argument("--live", action="store_true", help="build those of the crate `live` too")
    parser.add_argument("--keep", action="store_true", help="add what is new to the kept corpora, and drop the rest")
    own = parser.parse_intermixed_args()
    targets = own.targets or all_targets(own.live)
    build(any(target in LIVE for target in targets))
    words = dictionary()
    each = max(1, round(2 * own.seconds / len(targets)))
    with ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(partial(fuzz, seconds=each, words=words, keep=own.keep), targets))
    return 1 if any(codes) else 0


def all_targets(live: bool) -> list[str]:
    """Name the targets, slow ones first."""
    rust = sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))
    readers = list(READERS)
    if importlib.util.find_spec("atheris") is None:
        print("fuzz: readers in Python are left out: there is no atheris for this machine")
        readers = []
    return readers + [target for target in rust if live or target not in LIVE]


def build(live: bool) -> None:
    """Compile the targets in Rust."""
    features = ["--features", "live"] if live else []
    subprocess.run(["cargo", "build", "--quiet", "--bins", *features], cwd=FUZZ, check=True)


def dictionary() -> Path:
    """Write the words of scenario files, as the schema has them, for libFuzzer."""
    words: set[str] = set()
    queue = [json.loads(SCHEMA.read_text())]
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            words.update(value.get("properties", {}), [w for w in value.get("enum", []) if isinstance(w, str)])
            queue += value.values()
        elif isinstance(value, list):
            queue += value
    file = BUILT / "scenario.dict"
    file.write_text("".join(f"{json.dumps(word)}\n" for word in sorted(words) if word.isascii()))
    return file


def fuzz(target: str, seconds: int, words: Path, keep: bool) -> int:
    """Run a target, and say in a line how it went, or what brought it down."""
    kept, found, failures = FUZZ / "corpus" / target, BUILT / "corpus" / target, BUILT / "failures"
    for folder in (kept, found, failures):
        folder.mkdir(parents=True, exist_ok=True)
    call = [str(program(target)), *LIMITS, f"-artifact_prefix={failures}/{target}-"]
    call += [f"-dict={words}"] if target in ("scenario", "sweep") else []
    code = run([*call, f"-max_total_time={seconds}", str(found), str(kept)], target)
    if code == 0:
        print(f"fuzz {target}: {seconds} seconds, {len(list(found.iterdir()))} inputs that reach something", flush=True)
    return code or (keep_smallest(call, target) if keep else 0)


def keep_smallest(call: list[str], target: str) -> int:
    """Keep the smallest inputs that reach all that is reached, beside those that have a name of their own."""
    kept, found, smallest = FUZZ / "corpus" / target, BUILT / "corpus" / target, BUILT / "smallest" / target
    shutil.rmtree(smallest, ignore_errors=True)
    smallest.mkdir(parents=True)
    # Which lines are reached counts, not how often each is.
    code = run([*call, "-set_cover_merge=1", "-use_counters=0", str(smallest), str(kept), str(found)], target)
    if code == 0:
        named = {file.read_bytes() for file in kept.iterdir() if not HASH.fullmatch(file.name)}
        for old in filter(lambda file: HASH.fullmatch(file.name), list(kept.iterdir())):
            old.unlink()
        for file in smallest.iterdir():
            if file.read_bytes() not in named:
                shutil.copy(file, kept / file.name)
    return code


def program(target: str) -> Path:
    """Give the program that fuzzes a target."""
    if target not in READERS:
        return next(BUILT.glob(f"*/debug/{target}"))
    script = BUILT / "readers" / target
    script.parent.mkdir(exist_ok=True)
    words = shlex.join([sys.executable, str(FUZZ / "fuzz_reader.py"), target])
    script.write_text(f'#!/bin/sh\nexec {words} "$0" "$@"\n')
    script.chmod(0o755)
    return script


def run(call: list[str], target: str) -> int:
    """Run a target; what it says is shown only if it fails."""
    done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = done.stderr.splitlines()[-LINES:]
        print(f"fuzz {target} failed ({shlex.join(call)}):", *lines, sep="\n  ", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
