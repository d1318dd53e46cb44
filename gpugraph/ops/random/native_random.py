"""Draws of float32 numbers and integers by native code (host_random.h), once it is compiled. It is
used for large draws, and for small draws of streams that draw often.

The numbers have the same bits as NumPy's. So NumPy may fill the first part of a tensor while the
code is compiled, and native code the remaining part. Native code that gives different numbers is
not used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpugraph.graph.client.creation_origin import stack_level
from gpugraph.kernel import CompiledFile, KernelContext
from gpugraph.ops.random.bits_to_distributions import Law, groups_of
from gpugraph.ops.random.philox import CHUNK, Philox
from gpugraph.ops.random.seeds_and_streams import RESERVED, Stream

FILE = "host_random.h"

_INTEGERS = "gg_integers"

FEW = 16_384
"""The number of draws below which NumPy is as fast as binding and calling a C function."""

_SMALLEST = 32
"""The number of draws below which NumPy, which draws for several runs at once, is as fast."""

_OFTEN = 64
"""The number of times that a stream has drawn when its small draws become native."""

_PART = 1 << 22
"""The number of draws after which NumPy checks whether the code is compiled."""

_NUMPY_SECONDS = 2e-8
"""NumPy's approximate time per number, in seconds."""

_MIN_PATIENCE_S, _MAX_PATIENCE_S = 0.1, 2.0
"""The bounds, in seconds, of the wait for the compiler.

Compilation takes at least the lower bound.
"""

_SAMPLE = 4 * CHUNK + 3

_SOUND: dict[tuple[int, str, Any], bool] = {}
"""Whether a function of a compiled file computes NumPy's numbers, by (`id` of the file, function,
dtype).
"""


def with_native(context: KernelContext, law: Law, out: Any) -> Law:
    """Return the law with which to fill `out`. The law uses native code if `out` is large and there
    is native code for its dtype. Otherwise it is `law` itself.
    """
    if out.size < FEW or not _has_native(law, out):
        return law
    return law._replace(fill=partial(_fill, context.compiled(FILE), law))


def _has_native(law: Law, out: Any) -> bool:
    """Return whether there is native code for a law and the dtype of an array."""
    return bool(law.native) and (out.dtype == np.float32 or law.native == _INTEGERS)


def _arguments(law: Law, out: Any) -> list[int]:
    """Return the integers that the C function of a law receives."""
    is_wide = (int(out.dtype.itemsize == 8),) if law.native == _INTEGERS else ()
    return [out.size, *law.parameters, *is_wide]


class Draw:
    """A callable that fills an array with the next random numbers of a stream, from one
    distribution.
    """

    def __init__(self, context: KernelContext, stream: Stream, law: Law, out: Any) -> None:
        self._context, self._stream, self._law, self._out = context, stream, law, out
        self._fill = partial(stream.fill, with_native(context, law, out), out)
        self._may_bind = _SMALLEST <= out.size < FEW and _has_native(law, out)
        self._compiled: Callable[[float], CompiledFile | None] | None = None
        self._position = np.zeros(4, np.uint64)
        self._call: Callable[[], Any] | None = None

    def __call__(self) -> None:
        call = self._call or self._bound()
        if call is None:
            self._fill()
            return
        place = self._stream.reserve(self._out.size * RESERVED)
        self._position[:3] = place.counter % 2**64, place.counter // 2**64, place.key
        call()

    def _bound(self) -> Callable[[], Any] | None:
        """Return the native call that fills the array, starting at a given position of the stream.
        If the stream has not drawn often yet, or there is no native code, return None.
        """
        if not self._may_bind:
            return None
        self._stream.draws += 1
        if self._stream.draws < _OFTEN:
            return None
        if self._compiled is None:
            self._compiled = self._context.compiled(FILE)
        file = self._compiled(0.0)
        if file is None or not _gives_expected_numbers(file, self._law, self._out):
            return None
        arrays = [self._position.view(np.float32), self._out.view(np.float32)]
        self._call = file.bind(self._law.native, _arguments(self._law, self._out), arrays)
        return self._call


def _fill(
    compiled: Callable[[float], CompiledFile | None], law: Law, place: Philox, out: Any
) -> None:
    flat, group = out.reshape(-1), groups_of(out)[1]
    done = 0
    while done < flat.size:
        rest = flat[done:]
        here = place.skip(done // group * (law.reserved * group or 1))
        file = compiled(0.0 if done else _patience(flat.size))
        if file is not None and _gives_expected_numbers(file, law, rest):
            _draw(file, law, here, rest)
            return
        law.fill(here, rest[:_PART])
        done += _PART


def _patience(count: int) -> float:
    """Return the number of seconds to wait for the compiler. For large draws, this is half of the
    time that NumPy needs. Otherwise it is 0.
    """
    seconds = count * _NUMPY_SECONDS / 2
    return min(seconds, _MAX_PATIENCE_S) if seconds >= _MIN_PATIENCE_S else 0.0


def _draw(file: CompiledFile, law: Law, place: Philox, out: Any) -> None:
    arrays = [position_array(place), out.view(np.float32)]
    file.bind(law.native, _arguments(law, out), arrays)()


def position_array(place: Philox) -> Any:
    """Return a position of the generator as the C functions read it."""
    halves = place.counter % 2**64, place.counter // 2**64
    return np.array([*halves, place.key, 0], np.uint64).view(np.float32)


def drawing(
    context: KernelContext, function: str, law: Callable[[Philox, Any], Any]
) -> Callable[[Philox, Any], Any]:
    """Return a function that draws a number for each parameter, in native code if it is compiled.

    Args:
      function: the name of the function in host_rejection.h.
      law: the function in NumPy. It receives a position of the generator and the parameters, a
        vector of float64.
    """
    compiled = context.compiled("host_rejection.h")

    def draw(place: Philox, parameters: Any) -> Any:
        file = compiled(0.0) if parameters.size >= _SMALLEST else None
        if file is None:
            return law(place, parameters)
        numbers = np.empty(parameters.size)
        arrays = [position_array(place), parameters.view(np.float32), numbers.view(np.float32)]
        file.bind(function, [parameters.size], arrays)()
        return numbers

    return draw


def _gives_expected_numbers(file: CompiledFile, law: Law, out: Any) -> bool:
    """Return whether the compiled function computes the same numbers as the law, for a sample of
    the dtype of `out`. The result is cached.
    """
    key = id(file), law.native, out.dtype
    if key not in _SOUND:
        place = Philox(
            0x0123456789ABCDEF, 2**96 - CHUNK // 2
        )  # a position at which the counter carries
        numbers, expected = np.empty((2, _SAMPLE), out.dtype)
        _draw(file, law, place, numbers)
        law.fill(place, expected)
        _SOUND[key] = bool(np.array_equal(numbers, expected))
        if not _SOUND[key]:
            warnings.warn(
                f"native code is not used: {law.native} gives other random numbers than "
                "NumPy: the C compiler is not sound",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
    return _SOUND[key]
