"""Functions with a name, at their poles and far out; inverse ones outside of their domains."""

from __future__ import annotations

import math

import numpy as np

import gpugraph as tf

from ..function_cases import fetched, same


def test_erfc_keeps_its_precision_where_erf_is_one() -> None:
    x = np.linspace(-6, 26, 4001)
    wanted = np.array([math.erfc(value) for value in x])
    result = fetched(lambda: tf.erfc(x))
    assert np.max(np.abs(result - wanted) / wanted) < 3e-15
    same(lambda: tf.erfc([np.inf, -np.inf]), [0, 2])
    assert np.isnan(fetched(lambda: tf.erfc([np.nan]))).all()


def test_gamma_at_its_poles_and_far_out() -> None:
    x = np.float64([0.5, 0, -1, -1.5, 1e10, np.inf])
    wanted = [0.5 * math.log(math.pi), np.inf, np.inf, math.lgamma(-1.5), math.lgamma(1e10), np.inf]
    same(lambda: tf.lgamma(x), wanted, 1e-14)
    euler = 0.5772156649015329
    x = np.float64([1, 0.5, -0.5, 0, -1, 1e10])
    wanted = [
        -euler,
        -euler - 2 * math.log(2),
        0.03648997397857652,
        np.nan,
        np.nan,
        23.025850929890456,
    ]
    same(lambda: tf.digamma(x), wanted, 1e-13)


def test_zeta_and_polygamma() -> None:
    x, q = np.float64([2, 4, 1, 0.5, 3, 2.5]), np.float64([1, 1, 2, 3, -1.5, -0.5])
    by_hand = -8.0 - 1 / 1.5**3 + sum((k + 0.5) ** -3 for k in range(100_000)) + 0.5 / 100_000**2
    wanted = [math.pi**2 / 6, math.pi**4 / 90, np.inf, np.nan, by_hand, np.nan]
    same(lambda: tf.zeta(x, q), wanted, 1e-9)
    a, x = np.float64([0, 1, 3, 0.5, -1]), np.float64([1, 1, 1, 3, 2])
    wanted = [-0.5772156649015329, math.pi**2 / 6, math.pi**4 / 15, np.nan, np.nan]
    same(lambda: tf.polygamma(a, x), wanted, 1e-12)


def test_inverse_functions_outside_of_their_domains_are_nan() -> None:
    for function, x in ((tf.asin, 2.0), (tf.acos, -2.0), (tf.acosh, 0.5), (tf.atanh, 1.5)):
        assert np.isnan(fetched(lambda f=function, x=x: f(x)))
    same(lambda: tf.atan2([1.0, -1.0], -0.0), [math.pi / 2, -math.pi / 2], 1e-6)
    same(lambda: tf.sinh(tf.asinh(3.0)), 3.0, 1e-6)
    same(lambda: tf.cosh(tf.acosh(3.0)), 3.0, 1e-6)
    same(lambda: tf.math.xlogy([0.0, 2.0], [0.0, 1.0]), [0, 0])
    same(lambda: tf.math.multiply_no_nan([np.inf, 2.0], [0.0, 3.0]), [0, 6])
    same(lambda: tf.math.nextafter(1.0, 2.0), np.nextafter(np.float32(1), np.float32(2)))


def test_bits() -> None:
    same(lambda: tf.bitwise.bitwise_and([6, 5], 3), [2, 1])
    same(lambda: tf.bitwise.bitwise_or([6, 5], 3), [7, 7])
    same(lambda: tf.bitwise.bitwise_xor([6, 5], 3), [5, 6])
    same(lambda: tf.bitwise.invert(np.uint8([0, 250])), [255, 5])
    same(lambda: tf.bitwise.left_shift([5, 5, 5], [1, 40, -1]), [10, -(2**31), 5])
    same(lambda: tf.bitwise.right_shift([-8, 5], [1, 40]), [-4, 0])


def test_edges_of_incomplete_functions() -> None:
    a, x = [0.0, 1, 2, np.inf, 2], [1.0, 0, np.inf, 2, -1]
    same(lambda: tf.igamma(a, x), [np.nan, 0, 1, 0, np.nan])
    same(lambda: tf.igammac(a, x), [np.nan, 1, 0, 1, np.nan])
    x = [0.0, 1, 1.5, -0.5]
    same(lambda: tf.betainc([2.0] * 4, [3.0] * 4, x), [0, 1, np.nan, np.nan])
    same(lambda: tf.math.erfinv([-1.0, 1, 2]), [-np.inf, np.inf, np.nan])
    same(lambda: tf.math.ndtri([0.0, 0.5, 1, 2]), [-np.inf, 0, np.inf, np.nan])
    same(lambda: tf.math.erfcinv([0.0, 1, 2]), [np.inf, 0, -np.inf])
    same(lambda: tf.math.reciprocal_no_nan([0.0, 4]), [0, 0.25])
    same(lambda: tf.math.bessel_i1e([0.0, -1e9, np.inf]), [0, -1.261566e-05, 0], 1e-7)


def test_incomplete_gamma_of_large_parameters() -> None:
    """P(a, a) is 1 / 2 + 1 / (3 sqrt(2 pi a)), and farther off nearly the normal law's."""
    a = np.float64([1e6, 1e8, 1e9, 1e12, 1e30, 1e300])
    half = 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a))
    same(lambda: tf.igamma(a, a), half, 1e-11)
    same(lambda: tf.igammac(a, a), 1 - half, 1e-11)
    steps = np.float64([-30, -3, -1, 1, 3, 30])
    normal = [0.5 * math.erfc(-step / math.sqrt(2)) for step in steps]
    same(lambda: tf.igamma(np.float64(1e16), 1e16 + steps * 1e8), normal, 1e-7)
    same(lambda: tf.igamma(np.float64([1e12] * 2), [5e11, 2e12]), [0, 1])
    same(lambda: tf.igamma(np.float32([1e8, 1e30]), np.float32([1e8, 1e30])), half[[1, 4]], 1e-6)


def test_the_ways_to_the_incomplete_gamma_function_agree() -> None:
    """One way ends at a = 10000, the other begins there: values and slopes go on."""
    a = np.float64(1e4) + np.float64([[-1e-7], [1e-7]])
    x = np.float64([[9700.0, 9990.0, 10000.0, 10200.0]]) + np.zeros((2, 1))
    for function in (tf.igamma, tf.igammac, lambda a, x: tf.gradients(tf.igamma(a, x), a)[0]):
        result = fetched(lambda f=function: f(tf.constant(a + np.zeros_like(x)), x))
        np.testing.assert_allclose(result[0], result[1], 1e-7)


def test_slopes_of_the_incomplete_gamma_function_by_a_large_parameter() -> None:
    a, step = np.float64([1e5, 1e8, 1e8]), np.float64([1, 100, 100])
    x = a + np.float64([200, 0, -2e4])

    def slope() -> list[tf.Tensor]:
        values = tf.constant(a)
        change = (tf.igamma(values + step, x) - tf.igamma(values - step, x)) / (2 * step)
        return [tf.gradients(tf.igamma(values, x), values)[0] / change]

    same(slope, [np.ones(3)], 1e-4)
