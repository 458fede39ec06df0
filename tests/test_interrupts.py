"""Signals that ask a program to end, as programs meet them."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios

import pytest

from anabranch import interrupts, read_result
from labs import PROGRAM

pytestmark = pytest.mark.slow

BEGIN = """
import sys, time
from anabranch import interrupts
interrupts.UNANSWERED_S = 0.3
interrupts.heed()
def main():
    print("ready", flush=True)
    {work}
try:
    main()
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(interrupts.exit_code())
"""

# One call of the C library, which runs the words in a shell: no signal ends it, and none is handled before its end.
CALL = "import ctypes; ctypes.CDLL(None).system(b'({words}) > /dev/null 2>&1')"


def begun(work, **options):
    """Start a program that heeds signals and does some work; it is at it."""
    command = [sys.executable, "-c", BEGIN.format(work="\n    ".join(work))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    assert process.stdout.readline() == "ready\n"
    return process


def end_of(process, number=None):
    """Send a signal to a program, if one is given; give what it prints from then on, and its exit code."""
    if number is not None:
        process.send_signal(number)
    printed, errors = process.communicate(timeout=60)
    assert errors == ""
    return printed, process.returncode


@pytest.mark.parametrize("number", interrupts.ENDING)
def test_each_signal_is_an_interrupt_and_gives_its_own_exit_code(number):
    assert end_of(begun(["time.sleep(60)"]), number) == ("stopped\n", 128 + number)


def test_the_first_signal_gives_the_exit_code_and_what_follows_at_once_belongs_to_it():
    # Two signals, as a closed terminal sends; the second one does not end what the first one began.
    work = (
        "import signal",
        "try: print('at it', flush=True); time.sleep(60)",
        "except KeyboardInterrupt:",
        "    signal.raise_signal(signal.SIGTERM); print('kept', flush=True); raise",
    )
    process = begun(work)
    assert process.stdout.readline() == "at it\n"
    assert end_of(process, signal.SIGHUP) == ("kept\nstopped\n", 128 + signal.SIGHUP)


def test_a_signal_that_the_caller_ignores_stays_ignored():
    process = begun(["time.sleep(1)"], preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert end_of(process, signal.SIGHUP) == ("", 0)


def test_a_call_that_cannot_be_called_off_does_not_keep_a_program_from_ending():
    process = begun([CALL.format(words="kill -TERM $PPID; exec sleep 20")])
    assert end_of(process) == ("", 128 + signal.SIGTERM)


def test_further_signals_do_not_put_the_end_off():
    # A signal each tenth of a second for 6 s, where one may be unanswered for three tenths.
    process = begun([CALL.format(words="for i in $(seq 60); do kill -TERM $PPID; sleep 0.1; done")])
    assert end_of(process) == ("", 128 + signal.SIGTERM)


def test_what_must_be_done_to_its_end_is_waited_for():
    work = (
        "with interrupts.held_interrupts() as held:",
        # Ten times as long as a signal may be unanswered.
        f"    {CALL.format(words='kill -TERM $PPID; sleep 3')}",
        "    print('done', held.came, flush=True)",
    )
    assert end_of(begun(work)) == ("done True\n", 0)


def test_a_block_on_another_thread_does_not_end_what_the_main_thread_holds():
    work = (
        "from threading import Thread",
        "def block():",
        "    with interrupts.held_interrupts(): pass",
        "with interrupts.held_interrupts() as held:",
        "    other = Thread(target=block); other.start(); other.join()",
        f"    {CALL.format(words='kill -TERM $PPID; sleep 1')}",
        "    print('done', held.came, flush=True)",
    )
    assert end_of(begun(work)) == ("done True\n", 0)


def test_libraries_that_replace_handlers_do_not_keep_a_program_from_heeding():
    work = (
        "import signal",
        "with interrupts.kept_handlers(): signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))",
        "print('at it', flush=True); time.sleep(60)",
    )
    process = begun(work)
    assert process.stdout.readline() == "at it\n"
    assert end_of(process, signal.SIGTERM) == ("stopped\n", 128 + signal.SIGTERM)


def test_a_run_whose_terminal_is_closed_is_kept(tmp_path):
    controller, terminal = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    (tmp_path / "scenario.toml").write_text(
        '[run]\nduration = "100000 s"\n[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "1 Mbit/s"\ndelay = "1 ms"\n'
        '[[connection]]\nsource = "a"\ntarget = "b"\nprotocol = "reno"\n',
        encoding="utf-8",
    )
    words = ["run", tmp_path / "scenario.toml", "--out", tmp_path / "out", "--figures"]
    command = [*PROGRAM, *map(str, words)]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=take_terminal)
    os.close(terminal)
    # The progress bar says that it runs.
    while b"events/s" not in os.read(controller, 4096):
        pass
    os.close(controller)
    assert process.wait(timeout=60) == 128 + signal.SIGHUP
    assert read_result(tmp_path / "out").meta["finished"] is False
    assert list((tmp_path / "out").glob("*.svg"))
