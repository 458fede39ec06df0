"""Frames of any library are taken by their Arrow stream; one that says what cannot be is refused unread."""

import ctypes
from collections.abc import Callable

import polars as pl
import pytest

from anabranch import _core

FRAME = pl.DataFrame({"rate": [1.0, None, 3.0], "name": ["short", "a text that is longer", None]})


class Array(ctypes.Structure):
    """ArrowArray, as C has it."""


Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    *((name, ctypes.c_void_p) for name in ("dictionary", "release", "private_data")),
]
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Array))


class Stream(ctypes.Structure):
    """ArrowArrayStream, as C has it."""

    _fields_ = (("get_schema", ctypes.c_void_p), ("get_next", GetNext))


get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Spoiled:
    """A frame whose chunks are changed before others see them."""

    def __init__(self, spoil: Callable[[Array], object], code: int = 0) -> None:
        self.spoil, self.code = spoil, code

    def __arrow_c_stream__(self) -> object:
        capsule = FRAME.__arrow_c_stream__()
        stream = Stream.from_address(get_pointer(capsule, b"arrow_array_stream"))
        get_next = GetNext(ctypes.cast(stream.get_next, ctypes.c_void_p).value)

        def changed(own: int, out: "ctypes._Pointer[Array]") -> int:
            code = get_next(own, out)
            if out[0].release:
                self.spoil(out[0])
            return self.code or code

        self.kept = stream.get_next = GetNext(changed)
        return capsule


def set_of(child: int | None, field: str, value: int) -> Callable[[Array], object]:
    """Give a change of a field of a column, or of the chunk."""
    return lambda array: setattr(array if child is None else array.children[child][0], field, value)


def shift_values(array: Array) -> None:
    """Let the values of the first column begin a byte later."""
    array.children[0][0].buffers[1] += 1


def test_a_frame_that_is_as_it_says_is_taken_from_any_library():
    unchanged = Spoiled(lambda array: None)
    assert _core.parquet_files([unchanged], 10) == _core.parquet_files([FRAME], 10)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (set_of(None, "length", -1), "a length or an offset is below zero"),
        (set_of(None, "length", 4), "column `rate` .*: it has fewer rows than its chunk"),
        (set_of(None, "null_count", 1), "whole rows are null"),
        (set_of(0, "length", -3), "column `rate` .*: a length or an offset is below zero"),
        (set_of(0, "offset", 2**62), "more rows than memory has bytes"),
        (set_of(0, "null_count", 4), "its number of nulls is none"),
        (set_of(0, "n_buffers", 1), "it does not have the buffers of its type"),
        (set_of(1, "n_buffers", -1), "column `name` .*: it does not have the buffers of its type"),
        (shift_values, "its values do not begin where a processor reads them at once"),
    ],
)
def test_a_frame_that_says_what_cannot_be_is_refused(spoil, words):
    with pytest.raises(ValueError, match=words):
        _core.parquet_files([Spoiled(spoil)], 10)


def test_an_error_of_the_library_is_told():
    with pytest.raises(RuntimeError, match="does not give its columns: error 5"):
        _core.parquet_files([Spoiled(lambda array: None, code=5)], 10)


def test_a_capsule_of_something_else_is_refused():
    class Other:
        def __arrow_c_stream__(self):
            return FRAME["rate"]._s

    with pytest.raises(TypeError):
        _core.parquet_files([Other()], 10)
