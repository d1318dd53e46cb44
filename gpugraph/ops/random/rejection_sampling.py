"""Rejection sampling of numbers with gamma and Poisson distributions. Each number has separate
blocks of random bits.

Gamma: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
Poisson: Knuth's products of uniform numbers for small rates; Hoermann, "The transformed
  rejection method for generating Poisson random variables" (PTRS), 1993, for larger rates.

Number i uses as many Philox blocks as necessary, starting at block 256 i, in TensorFlow's order:
two doubles per block. The second double is used first. In each round, one attempt is made for each
number that is not accepted yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.ops.random.bits_to_distributions import doubles, normal_pairs
from gpugraph.ops.random.philox import Philox

_BLOCKS_PER_NUMBER = 256
_AT_ONCE = 1 << 16
"""The number of random numbers that are drawn together."""

_KNUTH = 10
"""The rate below which Knuth's products are used."""


def _normals(words: Any) -> Any:
    numbers = np.empty(words.shape)
    normal_pairs(words.reshape(-1), numbers.reshape(-1))
    return numbers


class _Lanes:
    """The streams of random bits of several numbers, called lanes. `next` is the next block of each
    lane.
    """

    def __init__(self, place: Philox, first: int, count: int) -> None:
        self.place = place
        self.next = (np.arange(count, dtype=np.uint64) + np.uint64(first)) * np.uint64(
            _BLOCKS_PER_NUMBER
        )


class _Source:
    """A source of random doubles for lanes, with two doubles per block. `pairs` holds the doubles
    of each lane until they are used.

    Args:
      convert: a function that converts each block of random bits to a pair of doubles.
    """

    def __init__(self, lanes: _Lanes, convert: Callable[[Any], Any]) -> None:
        self.lanes, self.convert = lanes, convert
        self.pairs = np.empty((len(lanes.next), 2))
        self.left = np.zeros(len(lanes.next), np.int8)

    def take(self, which: Any) -> Any:
        """Return the next double of each lane whose index is in `which`."""
        empty = which[self.left[which] == 0]
        if empty.size:
            self.pairs[empty] = self.convert(self.lanes.place.at(self.lanes.next[empty]))
            self.lanes.next[empty] += np.uint64(1)
            self.left[empty] = 2
        self.left[which] -= 1
        return self.pairs[which, self.left[which]]


Draw = Callable[[Any, _Lanes], Any]


def _by_parts(draw: Draw, place: Philox, parameters: Any) -> Any:
    """Return a number for each parameter. `draw(parameters, lanes)` is called repeatedly, each time
    for a part of the parameters.
    """
    numbers = np.empty(parameters.size)
    for start in range(0, parameters.size, _AT_ONCE):
        part = parameters[start : start + _AT_ONCE]
        lanes = _Lanes(place, start, part.size)
        numbers[start : start + part.size] = draw(part, lanes)
    return numbers


def gamma(place: Philox, alphas: Any) -> Any:
    """Return numbers with gamma distributions of rate 1. `alphas`, a vector of float64, contains
    their shape parameters.
    """
    return _by_parts(_gamma, place, alphas)


def _gamma(alphas: Any, lanes: _Lanes) -> Any:
    """Return d v, where d = alpha - 1/3 and v = (1 + x / sqrt(9 d))^3 for a normal number x.

    For alpha < 1, the result is the number for alpha + 1, times u^(1 / alpha), where u is uniform.
    For alpha = 1, the result is a number with an exponential distribution. The result is NaN unless
    alpha is above 0.
    """
    uniforms, normals = _Source(lanes, doubles), _Source(lanes, _normals)
    numbers = np.full(alphas.size, np.nan)
    exponential = np.flatnonzero(alphas == 1)
    numbers[exponential] = -np.log1p(-uniforms.take(exponential))
    left = np.flatnonzero((alphas > 0) & (alphas != 1))
    small = alphas < 1
    d = alphas + np.where(small, 2 / 3, -1 / 3)
    c = np.full(alphas.size, 1 / 3)
    np.divide(c, np.sqrt(d, where=d > 0, out=np.ones_like(d)), out=c)
    while left.size:
        x = normals.take(left)
        v = 1 + c[left] * x
        inside = v > 0
        lane, x, v = left[inside], x[inside], v[inside] ** 3
        u = uniforms.take(lane)
        is_sure = u < 1 - 0.0331 * (x * x) * (x * x)
        with np.errstate(divide="ignore"):
            bound = 0.5 * x * x + d[lane] * (1 - v + np.log(v))
            is_accepted = is_sure | (np.log(u) < bound)
        done = lane[is_accepted]
        numbers[done] = d[done] * v[is_accepted]
        left = np.setdiff1d(left, done, assume_unique=True)
    below = np.flatnonzero(small & (alphas > 0))
    numbers[below] *= uniforms.take(below) ** (1 / alphas[below])
    return numbers


def poisson(place: Philox, rates: Any) -> Any:
    """Return a random number with a Poisson distribution for each of the rates. Both `rates` and
    the result are vectors of float64.

    If a rate is negative, infinite or NaN, its number is NaN.
    """
    return _by_parts(_poisson, place, rates)


def _poisson(rates: Any, lanes: _Lanes) -> Any:
    uniforms = _Source(lanes, doubles)
    numbers = np.full(rates.size, np.nan)
    _products(rates, np.flatnonzero((rates >= 0) & (rates < _KNUTH)), uniforms, numbers)
    _transformed(rates, np.flatnonzero((rates >= _KNUTH) & (rates < np.inf)), uniforms, numbers)
    return numbers


def _products(rates: Any, left: Any, uniforms: _Source, numbers: Any) -> None:
    """Draw numbers with Poisson distributions. A number is the count of uniform numbers that can be
    multiplied before the product is exp(-rate) or less.

    Args:
      left: the indices of the numbers to draw.
    """
    limits, products = np.exp(-rates[left]), np.ones(left.size)
    count = 0
    while left.size:
        products = products * uniforms.take(left)
        over = products <= limits
        numbers[left[over]] = count
        left, limits, products = left[~over], limits[~over], products[~over]
        count += 1


def _transformed(rates: Any, left: Any, uniforms: _Source, numbers: Any) -> None:
    """Draw numbers with Poisson distributions by the method PTRS. It draws points under a hat
    function and accepts the points that are under the distribution.

    Args:
      left: the indices of the numbers to draw.
    """
    while left.size:
        rate = rates[left]
        b = 0.931 + 2.53 * np.sqrt(rate)
        a = -0.059 + 0.02483 * b
        u = uniforms.take(left) - 0.5
        v = uniforms.take(left)
        us = 0.5 - np.abs(u)
        k = np.floor((2 * a / us + b) * u + rate + 0.43)
        sure = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        open_ = ~sure & (k >= 0) & ((us >= 0.013) | (v <= us))
        unsure = np.flatnonzero(open_)
        scale = (1.1239 + 1.1328 / (b[unsure] - 3.4)) / (
            a[unsure] / (us[unsure] * us[unsure]) + b[unsure]
        )
        logs = -rate[unsure] + k[unsure] * np.log(rate[unsure])
        factorials = np.array([math.lgamma(value + 1) for value in k[unsure].tolist()])
        is_accepted = sure
        is_accepted[unsure] = np.log(v[unsure] * scale) <= logs - factorials
        numbers[left[is_accepted]] = k[is_accepted]
        left = left[~is_accepted]
