"""`tf.contrib.integrate`: solvers of ordinary differential equations dy/dt = f(y, t).

Sources: Dormand and Prince, A Family of Embedded Runge-Kutta Formulae (1980); Shampine, Some
Practical Runge-Kutta Formulas (1986), for interpolation within a step; Hairer, Nørsett and Wanner,
Solving Ordinary Differential Equations I, for the step size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.building.control_flow import Assert, while_loop
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray

Derivative = Callable[[Any, Any], Any]

_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_FOURTH_ORDER = (*(1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300), 1 / 60)
_ERRORS = tuple(x - y for x, y in zip((*_STAGES[-1], 0), _FOURTH_ORDER))
_MIDDLE = (
    *(6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2),
    *(-2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2),
    *(-1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2),
)
_ORDER = 5

_POLYNOMIAL = (
    # from (dt * f0, dt * f1, y0, y1, y in the middle) to the coefficients of x ** 4 ... x ** 0
    (-2, 2, -8, -8, 16),
    (5, -3, 18, 14, -32),
    (-4, 1, -11, -5, 16),
    (1, 0, 0, 0, 0),
    (0, 0, 1, 0, 0),
)


class _Control(NamedTuple):
    """The tolerances, and the bounds of step sizes."""

    rtol: Any
    atol: Any
    safety: Any
    ifactor: Any
    dfactor: Any
    max_num_steps: Any


class _State(NamedTuple):
    """The state of the integration: y and its derivative after the last step, the start and the end
    of this step, the size of the next step, and the coefficients of the polynomial that
    interpolates within the step.
    """

    y: Any
    slope: Any
    start: Any
    end: Any
    size: Any
    coefficients: Any


def odeint(
    func: Derivative,
    y0: Any,
    t: Any,
    rtol: float = 1e-6,
    atol: float = 1e-12,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """Integrate dy/dt = func(y, t) from y(t[0]) = y0 by Dormand and Prince's method with adaptive
    steps.

    Gradients flow to `y0` and to the tensors of `func`. Raises ValueError if the method is not
    "dopri5", and TypeError if `y0` or `t` is not floating. A run raises InvalidArgumentError if `t`
    does not increase, if a state is not finite, or after too many steps.

    Args:
      func: a function of the state and of a scalar time that returns a tensor of the state's shape.
      y0: the state at the first time.
      t: the times, a vector that increases.
      rtol: the relative tolerance of the error of a step.
      atol: the absolute tolerance.
      options: `first_step`, `safety`, `ifactor`, `dfactor` and `max_num_steps`, the maximum number
        of steps between two times.
      full_output: whether to return a dict of statistics too.

    Returns:
      The states [times, ...]. If `full_output` is true, also the dict of `num_func_evals`,
      `integrate_points` and `error_ratio`.
    """
    if method is not None and method != "dopri5":
        raise ValueError(f"invalid method: {method!r}")
    with name_scope(name, "odeint", [y0, t]):
        state, times = _checked(y0, t)
        real = tf.abs(state).dtype
        chosen = {"safety": 0.9, "ifactor": 10.0, "dfactor": 0.2, "max_num_steps": 1000}
        chosen |= options or {}
        first = tf.convert_to_tensor(chosen.pop("first_step", None) or 1.0, times.dtype)
        factors = {
            key: tf.convert_to_tensor(
                chosen.pop(key), dtypes.int32 if key == "max_num_steps" else times.dtype
            )
            for key in ("safety", "ifactor", "dfactor", "max_num_steps")
        }
        if chosen:
            raise TypeError(f"odeint has no option {sorted(chosen)[0]!r}")
        control = _Control(
            tf.convert_to_tensor(rtol, real), tf.convert_to_tensor(atol, real), **factors
        )
        return _integrate(func, state, times, first, control, full_output)


def _checked(y0: Any, t: Any) -> tuple[Tensor, Tensor]:
    """Return the first state and the times as tensors of floating dtypes."""
    state = tf.convert_to_tensor(y0, name="y0")
    times = tf.convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
    if not (state.dtype.is_floating or state.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype")
    if not times.dtype.is_floating:
        raise TypeError("`t` must have a floating point dtype")
    increases = Assert(
        tf.reduce_all(times[1:] > times[:-1]), ["`t` must be monotonic increasing", times]
    )
    with control_dependencies([increases]):
        return state, tf.identity(times)


def _integrate(
    func: Derivative, y0: Tensor, t: Tensor, first: Tensor, control: _Control, is_full: bool
) -> Any:
    """Integrate over all times, and return the state at each time."""
    num_times = tf.size(t)
    points = TensorArray(t.dtype, 0, dynamic_size=True, clear_after_read=False)
    ratios = TensorArray(control.rtol.dtype, 0, dynamic_size=True, clear_after_read=False)
    states = TensorArray(y0.dtype, num_times).write(0, y0)
    begin = _State(y0, func(y0, t[0]), t[0], t[0], first, tf.stack([y0] * 5))

    def reach(index: Any, states: Any, state: Any, points: Any, ratios: Any) -> Any:
        """Take steps until the time of an index is reached, and store the state at this time."""
        time = t[index]
        _, state, points, ratios = while_loop(
            lambda _, state, *__: state.end < time,
            lambda count, state, points, ratios: (
                count + 1,
                *_step(func, control, count, state, points, ratios),
            ),
            (tf.constant(0), state, points, ratios),
            name="steps",
        )
        return index + 1, states.write(index, _between(state, time)), state, points, ratios

    _, states, _, points, ratios = while_loop(
        lambda index, *_: index < num_times,
        reach,
        (tf.constant(1), states, begin, points, ratios),
        name="times",
    )
    result = states.stack()
    result.set_shape(t.shape.concatenate(y0.shape))
    if not is_full:
        return result
    all_points = points.stack()
    return result, {
        "num_func_evals": 6 * tf.size(all_points) + 1,
        "integrate_points": all_points,
        "error_ratio": ratios.stack(),
    }


def _step(
    func: Derivative, control: _Control, count: Any, state: _State, points: Any, ratios: Any
) -> tuple[Any, ...]:
    """Attempt a step. If its error is too large, the step is discarded, and the next attempt has a
    smaller size.
    """
    checks = [
        Assert(state.end + state.size > state.end, ["underflow in dt", state.size]),
        Assert(count < control.max_num_steps, ["max_num_steps exceeded"]),
        Assert(
            tf.reduce_all(tf.is_finite(tf.abs(state.y))),
            ["non-finite values in state `y`", state.y],
        ),
    ]
    with control_dependencies(checks):
        size = tf.identity(state.size)
    dt = tf.cast(size, state.y.dtype)
    slopes = [state.slope]
    for time, weights in zip(_TIMES, _STAGES):
        y = state.y + dt * _weighted(weights, slopes)
        slopes.append(func(y, state.end + tf.cast(time, size.dtype) * size))
    bound = control.atol + control.rtol * tf.maximum(tf.abs(state.y), tf.abs(y))
    ratio = tf.sqrt(tf.reduce_mean(tf.square(tf.abs(dt * _weighted(_ERRORS, slopes)) / bound)))
    ratio = tf.where(tf.is_finite(ratio), ratio, tf.ones_like(ratio) / 1e-30)  # an overflow
    is_accepted = ratio <= 1
    middle = state.y + dt * _weighted(_MIDDLE, slopes)
    known = (dt * slopes[0], dt * slopes[-1], state.y, y, middle)
    coefficients = tf.stack([_weighted(row, known) for row in _POLYNOMIAL])

    def chosen(new: Any, old: Any) -> Any:
        return tf.where(is_accepted, new, old)

    after = _State(
        chosen(y, state.y),
        chosen(slopes[-1], state.slope),
        state.end,
        chosen(state.end + size, state.end),
        _next_size(size, tf.stop_gradient(tf.cast(ratio, size.dtype)), control),
        chosen(coefficients, state.coefficients),
    )
    points = points.write(points.size(), state.end + size)
    return after, points, ratios.write(ratios.size(), ratio)


def _weighted(weights: Any, values: Any) -> Any:
    """Return the sum of the values, each multiplied by its weight. Weights that are 0 are
    skipped.
    """
    terms = [
        value if weight == 1 else tf.cast(weight, value.dtype) * value
        for weight, value in zip(weights, values)
        if weight
    ]
    return tf.add_n(terms)


def _next_size(size: Any, ratio: Any, control: _Control) -> Any:
    """Return the step size with which the error is expected to be just below the tolerance."""
    shrink = tf.pow(ratio, tf.cast(1 / _ORDER, size.dtype)) / control.safety
    smallest = tf.where(ratio < 1, tf.ones_like(size), control.dfactor)
    return size / tf.maximum(1 / control.ifactor, tf.minimum(shrink, 1 / smallest))


def _between(state: _State, time: Any) -> Any:
    """Interpolate the state at a time within the last step."""
    x = tf.cast((time - state.start) / (state.end - state.start), state.y.dtype)
    value = state.coefficients[0]
    for power in range(1, 5):
        value = value * x + state.coefficients[power]
    return value


def odeint_fixed(
    func: Derivative, y0: Any, t: Any, dt: Any = None, method: str = "rk4", name: str | None = None
) -> Tensor:
    """Integrate dy/dt = func(y, t) from y(t[0]) = y0 with steps of fixed sizes.

    Raises ValueError for an unknown method, and TypeError if `y0`, `t` or `dt` is not floating.

    Args:
      func: a function of the state and of a scalar time that returns a tensor of the state's shape.
      y0: the state at the first time.
      t: the times, a vector that increases.
      dt: the maximum size of steps, a scalar, or a vector with a size for each interval. By
        default, an interval is one step.
      method: "rk4" or "midpoint".

    Returns:
      The states [times, ...].
    """
    if method not in _FIXED:
        raise ValueError(f"method not supported: {method}")
    with name_scope(name, "odeint_fixed", [y0, t, dt]):
        state, times = _checked(y0, t)
        intervals = times[1:] - times[:-1]
        counts = tf.ones_like(intervals, dtypes.int32)
        if dt is not None:
            sizes = tf.convert_to_tensor(dt, preferred_dtype=dtypes.float64, name="dt")
            if not sizes.dtype.is_floating:
                raise TypeError("`dt` must have a floating point dtype")
            _check_lengths(times, sizes)
            counts = tf.cast(tf.ceil(intervals / tf.cast(sizes, intervals.dtype)), dtypes.int32)
        steps = intervals / tf.cast(counts, intervals.dtype)
        return _integrate_fixed(func, state, times, steps, counts, _FIXED[method])


def _check_lengths(t: Tensor, dt: Tensor) -> None:
    """Raise ValueError if the number of step sizes differs from the number of intervals."""
    if len(dt.shape.as_list()) > 1:
        raise ValueError("t must be a 1D tensor")
    if dt.shape.as_list():
        times, sizes = t.shape.as_list()[0], dt.shape.as_list()[0]
        if times is not None and sizes is not None and times != sizes + 1:
            raise ValueError("t and dt have incompatible lengths, must be N and N-1")


def _integrate_fixed(
    func: Derivative, y0: Tensor, t: Tensor, steps: Any, counts: Any, increment: Any
) -> Tensor:
    """Divide each interval into steps of equal size, and return the state at each time."""
    num_times = tf.size(t)
    states = TensorArray(y0.dtype, num_times).write(0, y0)

    def pass_interval(index: Any, y: Any, states: Any) -> Any:
        size = steps[index - 1]
        _, y, _ = while_loop(
            lambda count, *_: count < counts[index - 1],
            lambda count, y, now: (count + 1, y + increment(func, now, size, y), now + size),
            (tf.constant(0), y, t[index - 1]),
            name="steps",
        )
        return index + 1, y, states.write(index, y)

    _, _, states = while_loop(
        lambda index, *_: index < num_times,
        pass_interval,
        (tf.constant(1), y0, states),
        name="times",
    )
    result = states.stack()
    result.set_shape(t.shape.concatenate(y0.shape))
    return result


def _midpoint(func: Derivative, t: Any, dt: Any, y: Any) -> Any:
    """Return the change of y in a step, computed from the slope at the midpoint of the step."""
    size = tf.cast(dt, y.dtype)
    return size * func(y + func(y, t) * size / 2, t + dt / 2)


def _runge_kutta(func: Derivative, t: Any, dt: Any, y: Any) -> Any:
    """Return the change of y in a step, computed by the classical Runge-Kutta method of order 4."""
    size = tf.cast(dt, y.dtype)
    first = func(y, t)
    second = func(y + size * first / 2, t + dt / 2)
    third = func(y + size * second / 2, t + dt / 2)
    fourth = func(y + size * third, t + dt)
    return (first + 2 * second + 2 * third + fourth) * (size / 6)


_FIXED = {"rk4": _runge_kutta, "midpoint": _midpoint}
