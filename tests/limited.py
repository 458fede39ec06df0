"""What tests of nasty inputs share: commands that run one after the other in a process with limits."""

import contextlib
import importlib
import io
import json
import multiprocessing
import resource
import time

import polars

from slowness import slowness

MEMORY_BYTES = 500 << 20
"""What commands may take beyond the program itself."""

RESERVED_BYTES = 256 << 20
"""Addresses that threads reserve and do not use."""

CPU_S = 2.0
"""What each command may take of a processor."""


def outcomes(commands, place):
    """Run commands; give of each its exit code, what it says, and the processor time that it takes.

    A process that is ended by its limits has as many outcomes as it came to, and the last is that it was ended.
    """
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run, args=(commands, str(place)))
    process.start()
    process.join()
    told = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    return told if process.exitcode == 0 else [*told, [process.exitcode, "it was ended", 0.0]]


def _run(commands, place):
    from anabranch import _core, cli

    # Commands and libraries are loaded when they are asked for; what they are does not count, nor do their threads.
    for name in {command[0] for command in commands}:
        importlib.import_module(f"anabranch.commands.{name}")
    polars.LazyFrame({"number": [1]}).collect()
    most = _core.memory_in_use()[1] + MEMORY_BYTES + RESERVED_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with open(place, "w", encoding="utf-8") as out:
        for command in commands:
            begin = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (int(begin + 10 * CPU_S), resource.RLIM_INFINITY))
            code, said = _main(cli, command)
            cpu_s = time.process_time() - begin
            out.write(json.dumps([code, said, cpu_s if cpu_s < CPU_S else cpu_s / slowness()]) + "\n")
            out.flush()


def _main(cli, command):
    import sys

    sys.argv = ["anabranch", *command]
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            cli.main()
        except SystemExit as left:
            return left.code or 0, said.getvalue()
        except BaseException as error:
            return -1, f"{type(error).__name__}: {error}"
    return 0, said.getvalue()
