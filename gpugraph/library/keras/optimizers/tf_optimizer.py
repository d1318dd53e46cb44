"""TFOptimizer: an optimizer of `tf.train` with the interface of Keras's optimizers."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int64
from gpugraph.base.nest import flatten
from gpugraph.building.trackable.trackable import Trackable
from gpugraph.library.keras.backend.keras_session import track_variable
from gpugraph.library.keras.optimizers.hyperparameters import scalar_variable


class TFOptimizer(Trackable):
    """A wrapper of an optimizer of `tf.train`, which counts steps in the variable `iterations`."""

    def __init__(self, optimizer: Any, iterations: Any = None) -> None:
        self.optimizer = optimizer
        self.iterations = iterations
        if iterations is None:
            self.iterations = scalar_variable(0, "iterations", int64)
        self._track_trackable(optimizer, "optimizer")
        self._track_trackable(self.iterations, "global_step")

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: Any = None) -> Any:
        """Return an op that takes one step to minimize a loss. The wrapped optimizer's `minimize`
        creates the op.
        """
        done = self.optimizer.minimize(
            loss, self.iterations, var_list=var_list, grad_loss=grad_loss, name=name
        )
        self._track()
        return done

    def get_grads(self, loss: Any, params: Any) -> list[Any]:
        """Return the gradients of a loss with respect to the variables `params`. If the loss does
        not depend on a variable, its gradient is None.
        """
        return [grad for grad, _ in self.optimizer.compute_gradients(loss, flatten(params))]

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Return a list with an op that takes one step to minimize a loss.

        Raises ValueError if no variable has a gradient.
        """
        return [self.apply_gradients(self.optimizer.compute_gradients(loss, flatten(params)))]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """Return an op that changes variables by their gradients, and adds 1 to `iterations`."""
        done = self.optimizer.apply_gradients(grads_and_vars, self.iterations, name)
        self._track()
        return done

    def _track(self) -> None:
        """Register the slots of the wrapped optimizer, so that Keras's session initializes them."""
        for variable in self.optimizer.variables():
            track_variable(variable)

    @property
    def weights(self) -> list[Any]:
        """Raise NotImplementedError, because Keras has no access to the wrapped optimizer's
        variables.
        """
        raise NotImplementedError

    def from_config(self, config: Any) -> Any:
        """Raise NotImplementedError, because optimizers of `tf.train` have no configuration."""
        raise NotImplementedError
