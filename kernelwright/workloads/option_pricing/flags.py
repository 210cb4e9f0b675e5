"""Flags say which options are calls: "c" or "p", arrays of them, or numbers: +1 for a call, -1 for a put."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelwright.core.errors import UsageError
from kernelwright.workloads.option_pricing.containers import plain

SIGNS = {"c": 1.0, "p": -1.0}
_LETTER = np.dtype("U1")
_SIGN_OF_CODE = np.full(128, np.nan)
_SIGN_OF_CODE[[ord(letter) for letter in SIGNS]] = list(SIGNS.values())


def sign_of(flag: Any) -> Any:
    """+1.0 for a call and -1.0 for a put: a number for a number or text, else an array of the flag's shape.

    UsageError for text that is neither, and for what is neither text nor number. Numbers other than +1 and -1
    are the kernel's to find.
    """
    if type(flag) is np.ndarray:
        return _of_array(flag)
    if isinstance(flag, str):
        try:
            return SIGNS[flag]
        except KeyError:
            raise _wrong(flag) from None
    if isinstance(flag, float | int):
        return float(plain(flag))
    return _of_array(plain(flag))


def _of_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    kind = array.dtype.kind
    if kind in "OUS":
        return _of_texts(array)
    if kind not in "iuf":
        raise UsageError(f"flags are of type {array.dtype}; give 'c' and 'p', or +1 and -1")
    return array


def _of_texts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype == _LETTER and array.ndim and array.flags.c_contiguous:
        # One code point each: looked up faster than text is compared, by `take` if they are few.
        codes = array.view(np.uint32)
        try:
            signs: np.ndarray[Any, Any] = (
                _SIGN_OF_CODE.take(codes) if codes.size < 256 else _SIGN_OF_CODE[codes]
            )
            return signs
        except IndexError:
            raise _wrong(array[(array != "c") & (array != "p")].flat[0]) from None
    require_known(array)
    return np.where(array == "c", 1.0, -1.0)


def require_known(flag: Any) -> None:
    """UsageError where a text among the flags is neither call nor put.

    `sign_of` leaves single letters to the kernel, which finds the NaN that unknown ones become: look here
    whenever it found something that is no option.
    """
    array = np.asarray(0.0 if getattr(flag, "is_cuda", False) else plain(flag))  # on a GPU there are no texts
    if array.dtype.kind in "OUS":
        known = (array == "c") | (array == "p")
        if not np.all(known):
            raise _wrong(array[~known].flat[0])


def _wrong(flag: Any) -> UsageError:
    shown = str(flag) if isinstance(flag, str) else flag
    return UsageError(f"flag {shown!r} is neither call nor put; give 'c' or 'p', or +1 or -1")
