"""Programs whose wall clock a test moves while they run, by a shared object that is loaded before those of the system.

Monotonic clocks, by which programs measure time, go on as they are.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t nothing = 0;
static volatile int64_t *ahead_s = &nothing;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const char *place = getenv("WALL_CLOCK_AHEAD");
  int file = place ? open(place, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *shared = mmap(0, sizeof *ahead_s, PROT_READ, MAP_SHARED, file, 0);
  if (shared != MAP_FAILED) ahead_s = shared;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (!real) begin();
  int failed = real(clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead_s;
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec fine;
  (void)zone;
  int failed = clock_gettime(CLOCK_REALTIME, &fine);
  if (!failed) { now->tv_sec = fine.tv_sec; now->tv_usec = fine.tv_nsec / 1000; }
  return failed;
}

time_t time(time_t *now) {
  struct timespec fine;
  clock_gettime(CLOCK_REALTIME, &fine);
  if (now) *now = fine.tv_sec;
  return fine.tv_sec;
}
"""


class WallClock:
    """The wall clock of programs that have its environment."""

    def __init__(self, shared_object: Path, place: Path) -> None:
        self._place = place
        self.environment = {"LD_PRELOAD": str(shared_object), "WALL_CLOCK_AHEAD": str(place)}
        self.ahead_s = 0
        self.move(0)

    def move(self, ahead_s: int) -> None:
        """Let the clock be this far ahead of that of the machine, in seconds, from now on."""
        self.ahead_s = ahead_s
        file = os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.pwrite(file, struct.pack("=q", ahead_s), 0)
        finally:
            os.close(file)


def clock_preload(folder: Path) -> Path | None:
    """Compile the shared object; None where it cannot be."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    source, shared_object = folder / "wall_clock.c", folder / "wall_clock.so"
    source.write_text(SOURCE)
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(shared_object), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return shared_object if done.returncode == 0 else None


def wanted_preload(folder: Path) -> Path:
    """Compile the shared object, or skip the test."""
    shared_object = clock_preload(folder)
    if shared_object is None:
        pytest.skip("no C compiler makes a shared object that moves the clocks of programs")
    return shared_object
