"""Exit codes: one meaning for each, whichever command ends with it."""

DONE = 0
FAILED = 1
WRONG_INPUT = 2
DOES_NOT_HOLD = 3
INTERRUPTED = 130
"""Stopped by Ctrl-C; after another signal the program ends with 128 and the number of that signal."""

MEANINGS = {
    "0": "done",
    "1": "failed, though the input was right: a solver did not converge, runs of a sweep failed, no server was"
    " reached, a program in a lab failed, the disk is full, memory ran out",
    "2": "the input or an option is wrong; nothing was written",
    "3": "the result does not hold: packets of `live` or `emulate` were late; a verdict of `reproduce` is not the one"
    " on record, or wrong numbers do not turn a row",
    "130": "stopped by Ctrl-C; after SIGTERM 143, after SIGHUP 129. `run`, `live` and `sweep` keep the results so far"
    " in the folder of `--out`, `solve` prints those of a method that goes in passes",
    "141": "the reader closed the output, as with `| head`",
}
"""What each code means, for the documentation."""
