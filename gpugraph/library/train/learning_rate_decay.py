"""Learning rates that change with the number of steps. They are scalars that are computed from the
global step.

All functions take a global step, which is an integer tensor or variable, and raise ValueError if it
is None. They compute in the dtype of the learning rate. `decay_steps` and the other arguments may
be numbers or tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.named_function import named
from gpugraph.building.control_flow import cond
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.elementwise.arithmetic_functions import add as plus, minimum, multiply, pow
from gpugraph.ops.elementwise.comparison_and_select import equal, greater, where
from gpugraph.ops.elementwise.division import truediv
from gpugraph.ops.elementwise.unary_functions import ceil, cos, exp, floor, log, negative, sqrt
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor, convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.random.random_ops import random_normal
from gpugraph.ops.reductions.reduction_functions import reduce_sum


@contextmanager
def _decay(
    name: str | None, default: str, rate: Any, global_step: Any, *numbers: Any
) -> Iterator[tuple[str, Tensor, Tensor, list[Tensor]]]:
    """Yield (the name of the scope, the rate, the step, the `numbers`). The step and the numbers
    have the dtype of the rate.

    Raises ValueError if there is no step.
    """
    if global_step is None:
        raise ValueError(f"global_step is required for {default}.")
    with op_scope(name, default, rate, global_step) as scope:
        first = convert_to_tensor(rate, name="initial_learning_rate")
        others = [cast(number, first.dtype.base_dtype) for number in numbers]
        yield scope, first, cast(global_step, first.dtype.base_dtype), others


def _decay_by_rate(
    type_name: str, default: str, doc: str, decay: Callable[[Tensor, Tensor, Tensor, str], Tensor]
) -> Callable[..., Tensor]:
    """Return a public function that returns `decay(learning_rate, decay_rate, periods, name)`.

    A period consists of `decay_steps` steps, and `periods` is the number of periods that have
    passed.
    """

    @named(type_name, doc)
    def function(
        learning_rate: Any,
        global_step: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> Tensor:
        numbers = decay_steps, decay_rate
        with _decay(name, default, learning_rate, global_step, *numbers) as tensors:
            scope, first, step, (steps, rate) = tensors
            passed = truediv(step, steps)
            return decay(first, rate, floor(passed) if staircase else passed, scope)

    return function


exponential_decay = _decay_by_rate(
    "exponential_decay",
    "ExponentialDecay",
    """Return learning_rate * decay_rate ** (global_step / decay_steps), a scalar.

    staircase: floor the quotient, so that the rate changes every `decay_steps` steps.
    """,
    lambda first, rate, periods, name: multiply(first, pow(rate, periods), name=name),
)
inverse_time_decay = _decay_by_rate(
    "inverse_time_decay",
    "InverseTimeDecay",
    "Return learning_rate / (1 + decay_rate * global_step / decay_steps); see `exponential_decay`.",
    lambda first, rate, periods, name: truediv(first, plus(1.0, multiply(rate, periods)), name),
)


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return learning_rate * exp(-decay_rate * global_step / decay_steps).

    For the arguments, see `exponential_decay`.
    """
    rate = exp(negative(convert_to_tensor(decay_rate, dtype_hint=dtypes.float32)))
    return exponential_decay(learning_rate, global_step, decay_steps, rate, staircase, name)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """Return values[0] if x <= boundaries[0], values[1] if x is greater and x <= boundaries[1], and
    so on.

    Raises ValueError if the lengths or the dtypes do not match.

    Args:
      x: a scalar.
      boundaries: increasing numbers. They have the dtype of x, or they are int32 and x is int64.
      values: numbers that have the same dtype as each other. There is one value more than there are
        boundaries.

    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.piecewise_constant(step, [10], [1.0, 0.1])
    >>> session.run(rate, {step: 20})
    np.float32(0.1)
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with op_scope(name, "PiecewiseConstant", x, *boundaries, *values) as scope:
        point = convert_to_tensor(x)
        limits = [_limit(boundary, point) for boundary in convert_n_to_tensor(boundaries)]
        choices = convert_n_to_tensor(values)
        for choice in choices:
            if choice.dtype.base_dtype is not choices[0].dtype.base_dtype:
                raise ValueError(
                    "Values must have elements all with the same dtype "
                    f"({choices[0].dtype.name} vs {choice.dtype.name})."
                )
        if not limits:
            return choices[0]
        passed = reduce_sum(cast(greater(point, stack(limits)), dtypes.int32))
        return gather(stack(choices), passed, name=scope)


def _limit(limit: Tensor, point: Tensor) -> Tensor:
    point_type, limit_type = point.dtype.base_dtype, limit.dtype.base_dtype
    if limit_type is dtypes.int32 and point_type is dtypes.int64:
        return cast(limit, point_type)
    if limit_type is not point_type:
        raise ValueError(
            f"Boundaries ({limit_type.name}) must have the same dtype as x ({point_type.name})."
        )
    return limit


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return a rate that falls from learning_rate to end_learning_rate in `decay_steps` steps.

    The rate is (learning_rate - end) * (1 - step / decay_steps) ** power + end, where end is
    `end_learning_rate`. After `decay_steps` steps, the rate stays at end.

    Args:
      cycle: whether the rate increases again after `decay_steps` steps, and then decays further.
        In this case, the next multiple of `decay_steps` replaces `decay_steps` in the formula.

    >>> rate = tf.train.polynomial_decay(1.0, 5, decay_steps=10, end_learning_rate=0.0)
    >>> session.run(rate)
    np.float32(0.5)
    """
    numbers = decay_steps, end_learning_rate, power
    with _decay(name, "PolynomialDecay", learning_rate, global_step, *numbers) as decay:
        scope, first, step, (steps, end, exponent) = decay
        if cycle:
            times = ceil(truediv(step, steps))
            steps = multiply(steps, where(equal(step, 0.0), times + 1.0, times))
        else:
            step = minimum(step, steps)
        left = pow(1.0 - truediv(step, steps), exponent)
        return plus(multiply(first - end, left), end, name=scope)


def _wave(fraction: Any) -> Tensor:
    """Return half a period of a cosine: a value that falls from 1 to 0 while `fraction` rises from
    0 to 1.
    """
    return 0.5 * (1.0 + cos(math.pi * fraction))


def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Return a rate that falls from learning_rate to alpha * learning_rate along half a period of a
    cosine.

    The decay takes `decay_steps` steps. Source: Loshchilov and Hutter, arXiv:1608.03983.
    """
    numbers = decay_steps, alpha
    with _decay(name, "CosineDecay", learning_rate, global_step, *numbers) as decay:
        _, first, step, (steps, lowest) = decay
        part = (1.0 - lowest) * _wave(truediv(minimum(step, steps), steps)) + lowest
        return multiply(first, part)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Return a rate that repeats `cosine_decay`. Each period is `t_mul` times as long as the
    previous period.

    Source: Loshchilov and Hutter, arXiv:1608.03983.

    Args:
      first_decay_steps: the length of the first period.
      m_mul: the rate at the start of a period is `m_mul` times the rate at the start of the
        previous period.
    """
    numbers = first_decay_steps, alpha, t_mul, m_mul
    with _decay(name, "SGDRDecay", learning_rate, global_step, *numbers) as decay:
        scope, first, step, (steps, lowest, longer, factor) = decay
        passed = truediv(step, steps)
        period, fraction = cond(
            equal(longer, 1.0), lambda: _equal_period(passed), lambda: _growing(passed, longer)
        )
        part = (1.0 - lowest) * (pow(factor, period) * _wave(fraction)) + lowest
        return multiply(first, part, name=scope)


def _equal_period(passed: Tensor) -> tuple[Tensor, Tensor]:
    """Return (the number of the current period, the fraction of it that has passed). All periods
    have the same length.

    Args:
      passed: the number of steps divided by the length of a period.
    """
    period = floor(passed)
    return period, passed - period


def _growing(passed: Tensor, longer: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same values as `_equal_period`, but for periods of different lengths. Each period
    is `longer` times as long as the previous period.
    """
    period = floor(log(1.0 - passed * (1.0 - longer)) / log(longer))
    length = pow(longer, period)
    before = (1.0 - length) / (1.0 - longer)
    return period, (passed - before) / length


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return learning_rate * ((alpha + linear) * cosine + beta), a rate that decays over
    `decay_steps` steps.

    `linear` falls from 1 to 0, and `cosine` goes through `num_periods` periods. Source: Bello et
    al., 2017, Neural Optimizer Search with Reinforcement Learning.
    """
    numbers = decay_steps, num_periods, alpha, beta
    with _decay(name, "LinearCosineDecay", learning_rate, global_step, *numbers) as decay:
        scope, first, step, (steps, periods, offset, rest) = decay
        done = minimum(step, steps)
        linear = truediv(steps - done, steps)
        part = (offset + linear) * _wave(2.0 * periods * truediv(done, steps)) + rest
        return multiply(first, part, name=scope)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return the rate of `linear_cosine_decay`, with noise added to its linear part.

    The variance of the noise is initial_variance / (1 + global_step) ** variance_decay.
    """
    numbers = decay_steps, initial_variance, variance_decay, num_periods, alpha, beta
    with _decay(name, "NoisyLinearCosineDecay", learning_rate, global_step, *numbers) as decay:
        scope, first, step, (steps, variance, fall, periods, offset, rest) = decay
        done = minimum(step, steps)
        spread = sqrt(variance / pow(1.0 + done, fall))
        noise = random_normal([], stddev=spread, dtype=first.dtype.base_dtype)
        linear = truediv(steps - done, steps) + noise
        part = (offset + linear) * _wave(2.0 * periods * truediv(done, steps)) + rest
        return multiply(first, part, name=scope)
