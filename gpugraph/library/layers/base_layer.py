"""The base class of `tf.layers` and recurrent cells: Keras's layer with variables from variable
scopes.

The first call of a layer opens its scope, whose name comes from the layer or its class. Later calls
use the variables in that scope, even if another scope is open then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from gpugraph.building.variable_scope import VariableScope, get_variable, variable_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph, get_default_session
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.keras.engine.keras_layer import Layer as KerasLayer
from gpugraph.library.keras.engine.layer_configs import from_plain
from gpugraph.library.layers.keras_style import is_keras_style

_NAMES = (
    "__layer_names",
)  # the collection that counts, for each layer class, the layers of a graph


class Layer(KerasLayer):
    """A layer that gets its variables from a variable scope. See `tf.keras.layers.Layer`.

    Losses and updates are added to the collections REGULARIZATION_LOSSES and UPDATE_OPS. Inside
    `experimental.keras_style_scope()`, a layer uses no variable scope.

    Args:
      name: the name of the scope, by default derived from the class: `BasicLSTMCell` becomes
        `basic_lstm_cell`.
    """

    _is_legacy_layer = True
    _loss_collection = GraphKeys.REGULARIZATION_LOSSES
    _update_collection = GraphKeys.UPDATE_OPS

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        self._reuse = kwargs.pop("_reuse", None)
        scope = kwargs.pop("_scope", None)
        self._is_keras_style = is_keras_style()
        self._base_name = name or ""
        self._refuse_scopes(scope, self._reuse)
        super().__init__(trainable, name, dtype, **kwargs)
        self._inside: str | None = None
        self._scope: VariableScope | None = None
        self._called = False
        if scope is not None:
            with variable_scope(scope) as self._scope:
                pass

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a layer from a configuration that `get_config` returned, with new variables."""
        return cls(**from_plain(config))

    @property
    def scope_name(self) -> str:
        """The name of the layer's variable scope.

        Raises ValueError if the layer was not called yet.
        """
        if self._scope is None:
            raise ValueError(
                f"No name available for layer scope because the layer '{self._name}' has not been "
                "used yet: the scope is opened at the first call."
            )
        return self._scope.name

    @property
    def name_scope(self) -> AbstractContextManager[str]:
        """A context manager that adds operations to the layer's name scope.

        Raises ValueError if the layer was not called yet.
        """
        graph = get_default_graph()
        return graph.name_scope(f"{self.scope_name}/")

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Run `call` inside the layer's variable scope. If the layer is not built yet, run `build`
        before `call`.

        Args:
          kwargs: may contain `scope`, a name or scope for the variables, which only the first call
            uses.
        """
        scope = kwargs.pop("scope", None)
        self._refuse_scopes(scope)
        if not self._is_keras_style:
            self._set_scope(scope)
        outputs = super().__call__(inputs, *args, **kwargs)
        self._called = True
        return outputs

    def _default_name(self, base_name: str) -> str:
        self._base_name = base_name
        return _unique(base_name)

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            opened = variable_scope(self._base_name if scope is None else scope)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as self._scope:
            pass

    def _refuse_scopes(self, scope: Any, reuse: Any = None) -> None:
        """Raise ValueError if a layer created under `keras_style_scope` receives a scope or
        `reuse`.
        """
        for name, value in (("scope", scope), ("reuse", reuse)):
            if self._is_keras_style and value is not None:
                raise ValueError(
                    f"{name} argument not allowed when keras style layers are enabled, but saw: "
                    f"{value}"
                )

    @contextmanager
    def _call_context(self) -> Iterator[None]:
        """Enter the layer's variable scope, and the name scope that the layer's first call has
        opened.

        A layer created under `keras_style_scope` only enters a new name scope with the layer's
        name.
        """
        if self._is_keras_style:
            graph = get_default_graph()
            with graph.name_scope(self._inside or self._name) as name_scope:
                outer, self._inside = self._inside, name_scope
                try:
                    yield
                finally:
                    self._inside = outer
            return
        self._set_scope(None)
        reuse = self._called or self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            graph = get_default_graph()
            with graph.name_scope(scope.original_name_scope):
                yield

    _variables_context = _call_context

    def _session(self, method: str) -> Any:
        """Return the default session. Raises ValueError if no default session is set.

        Args:
          method: the name of the caller's method, for the message.
        """
        session = get_default_session()
        if session is None:
            raise ValueError(
                f"{method} of layer {self._name} needs a default session: call it inside "
                "`with tf.Session():`, after the variables are initialized"
            )
        return session

    def _new_variable(self, name: str | None, shape: Any, **options: Any) -> Any:
        """Create a variable with `tf.get_variable`.

        A layer created under `keras_style_scope` creates a variable that is not shared by name.
        """
        if self._is_keras_style:
            return super()._new_variable(name, shape, **options)
        return get_variable(name or "Variable", shape, **options)


def _unique(base_name: str) -> str:
    """Return `base_name`. If a layer of the default graph already has that name, append a
    number.
    """
    stored = get_default_graph().get_collection_ref(_NAMES)
    if not stored:
        stored.append({})
    counts: dict[str, int] = stored[0]
    counts[base_name] = counts.get(base_name, 0) + 1
    return f"{base_name}_{counts[base_name]}"
