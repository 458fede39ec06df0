"""Fuzz a target of `readers.py` with coverage: `fuzz_reader.py TARGET PROGRAM` and what libFuzzer takes.

libFuzzer calls the program anew, with other options, where it compares inputs: so it must be one that does this call.
"""

import sys
from functools import partial

import atheris

with atheris.instrument_imports(
    include=["anabranch.formats", "anabranch.traces", "anabranch.sweeps", "anabranch.model"]
):
    from readers import TARGETS, once

if __name__ == "__main__":
    _, name, *call = sys.argv
    atheris.Setup(call, partial(once, TARGETS[name]))
    atheris.Fuzz()
