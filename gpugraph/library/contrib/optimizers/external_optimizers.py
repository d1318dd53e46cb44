"""Optimizers that run outside of the graph. They evaluate a loss and its gradients through runs of
a Session.

`ScipyOptimizerInterface` calls `scipy.optimize.minimize`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

import numpy as np

from gpugraph.base.optional_packages import package_of_extra
from gpugraph.building.gradients.backpropagation import gradients
from gpugraph.building.variables import Variable
from gpugraph.building.variables.variable_collections import trainable_variables
from gpugraph.graph.client.default_graph_functions import get_default_session
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import placeholder, zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.platform import logging

_Evaluate = Callable[[Any], Any]


class ExternalOptimizerInterface:
    """Minimizes a loss with a function outside of the graph. A subclass defines this function,
    `_minimize`.

    Raises ValueError if there are no variables.

    Args:
      equalities: tensors that must be 0, if the optimizer supports constraints.
      inequalities: tensors that must not be negative, if the optimizer supports constraints.
      var_to_bounds: a dict from variables to pairs (minimum, maximum).
      optimizer_kwargs: arguments that are passed to `_minimize`.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Any = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Any = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._equalities, self._inequalities = list(equalities or []), list(inequalities or [])
        self._vars = trainable_variables() if var_list is None else list(var_list)
        if not self._vars:
            raise ValueError("No variables to optimize.")
        for item in self._vars:
            if not isinstance(item, Variable):
                raise TypeError(f"var_list must contain variables, not {item!r}")
        self._packed_bounds = self._bounds(var_to_bounds)
        self._feeds = [placeholder(item.dtype.base_dtype, item.shape) for item in self._vars]
        self._changes = [item.assign(feed) for item, feed in zip(self._vars, self._feeds)]
        self._gradient = self._packed_gradient(loss)
        self._equality_gradients = [self._packed_gradient(item) for item in self._equalities]
        self._inequality_gradients = [self._packed_gradient(item) for item in self._inequalities]
        self.optimizer_kwargs = optimizer_kwargs
        self._packed = _packed(self._vars)
        ends = list(accumulate(int(np.prod(item.shape.as_list())) for item in self._vars))
        self._slices = [slice(*pair) for pair in zip([0, *ends], ends)]

    def _bounds(self, var_to_bounds: Any) -> list[tuple[Any, Any]] | None:
        if var_to_bounds is None:
            return None
        pairs: list[tuple[Any, Any]] = []
        for variable in self._vars:
            shape = variable.shape.as_list()
            low, high = var_to_bounds.get(variable, (-np.inf, np.inf))
            lows, highs = (np.broadcast_to(item, shape).ravel() for item in (low, high))
            pairs.extend(zip(lows, highs))
        return pairs

    def _packed_gradient(self, tensor: Any) -> Tensor:
        values_read = gradients(tensor, [variable._ref() for variable in self._vars])
        return _packed(
            zeros_like(variable) if grad is None else grad
            for grad, variable in zip(values_read, self._vars)
        )

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Any = None,
        step_callback: Any = None,
        loss_callback: Any = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimize the loss, and assign the resulting values to the variables.

        For the other arguments, see `Session.run`.

        Args:
          session: by default the default session.
          fetches: tensors that are evaluated with the loss and passed to `loss_callback`.
          step_callback: a function that is called with the packed values after each step.
        """
        session = session or get_default_session()
        feed_dict, fetches = feed_dict or {}, fetches or []
        loss_callback = loss_callback or (lambda *unused: None)
        step_callback = step_callback or (lambda unused: None)

        def evaluator(tensors: Sequence[Any], callback: Any = None, further: Any = ()) -> _Evaluate:
            def evaluate(values: Any) -> Any:
                feeds = {**feed_dict, **dict(zip(self._vars, self._unpacked(values)))}
                results = session.run([*tensors, *further], feed_dict=feeds, **run_kwargs)
                if callback is not None:
                    callback(*results[len(tensors) :])
                return results[: len(tensors)]

            return evaluate

        final = self._minimize(
            initial_val=session.run(self._packed),
            loss_grad_func=evaluator([self._loss, self._gradient], loss_callback, fetches),
            equality_funcs=[evaluator([item]) for item in self._equalities],
            equality_grad_funcs=[evaluator([item]) for item in self._equality_gradients],
            inequality_funcs=[evaluator([item]) for item in self._inequalities],
            inequality_grad_funcs=[evaluator([item]) for item in self._inequality_gradients],
            packed_bounds=self._packed_bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        session.run(
            self._changes, feed_dict=dict(zip(self._feeds, self._unpacked(final))), **run_kwargs
        )

    def _unpacked(self, values: Any) -> list[Any]:
        return [
            np.reshape(values[part], variable.shape.as_list())
            for part, variable in zip(self._slices, self._vars)
        ]

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: _Evaluate,
        equality_funcs: Sequence[_Evaluate],
        equality_grad_funcs: Sequence[_Evaluate],
        inequality_funcs: Sequence[_Evaluate],
        inequality_grad_funcs: Sequence[_Evaluate],
        packed_bounds: Any,
        step_callback: Callable[[Any], Any],
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        """Return the values that minimize the loss, packed in a vector."""
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement the _minimize() "
            "method."
        )


def _packed(tensors: Any) -> Tensor:
    """Return a vector of all elements of all tensors."""
    return concat([reshape(convert_to_tensor(item), [-1]) for item in tensors], 0)


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes a loss with `scipy.optimize.minimize`.

    The default method is L-BFGS-B, or SLSQP with constraints. `method`, `options` and other keyword
    arguments are passed to `scipy.optimize.minimize`. `pip install 'gpugraph[scipy]'` installs
    SciPy.
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: _Evaluate,
        equality_funcs: Sequence[_Evaluate],
        equality_grad_funcs: Sequence[_Evaluate],
        inequality_funcs: Sequence[_Evaluate],
        inequality_grad_funcs: Sequence[_Evaluate],
        packed_bounds: Any,
        step_callback: Callable[[Any], Any],
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        refused = {"jac", "hess", "constraints", "bounds", "fun", "x0", "callback"}
        for name in sorted(refused & set(optimizer_kwargs)):
            raise ValueError(
                f"Optimizer keyword arg {name!r} is set automatically and cannot be injected "
                "manually"
            )
        constraints = [
            {"type": kind, "fun": _first(function), "jac": _first(jacobian)}
            for kind, functions, jacobians in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, jacobian in zip(functions, jacobians)
        ]
        settings = dict(optimizer_kwargs)
        method = settings.pop("method", "SLSQP" if constraints else self._DEFAULT_METHOD)
        minimize = _scipy_minimize()
        result = minimize(
            lambda values: _as_doubles(*loss_grad_func(values)),
            np.asarray(initial_val, np.float64),
            jac=True,
            method=method,
            bounds=packed_bounds,
            constraints=constraints,
            callback=step_callback,
            **settings,
        )
        logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n"
            "  Number of iterations: %s\n  Number of functions evaluations: %s",
            result.message,
            result.fun,
            getattr(result, "nit", None),
            getattr(result, "nfev", None),
        )
        return result.x


def _first(function: _Evaluate) -> _Evaluate:
    return lambda values: np.asarray(function(values)[0], np.float64)


def _as_doubles(loss: Any, gradient: Any) -> tuple[Any, Any]:
    """Return the loss as a number, and its gradient as a float64 array, which SciPy's Fortran code
    requires.
    """
    return float(np.asarray(loss).item()), np.asarray(gradient, np.float64)


def _scipy_minimize() -> Callable[..., Any]:
    with package_of_extra("scipy", "scipy", "optimizers of SciPy"):
        return import_module("scipy.optimize").minimize
