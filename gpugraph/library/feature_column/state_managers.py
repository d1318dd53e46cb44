"""State managers: they create and store the variables and tables of feature columns.

A `LayerStateManager` creates the variables as weights of a layer.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gpugraph.building.variable_scope import get_variable


class StateManager:
    """The interface with which columns create and find their variables and tables."""

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Create a variable of a column. Raises ValueError if the column already has a variable
        `name`.
        """
        raise NotImplementedError("StateManager.create_variable")

    def add_variable(self, feature_column: Any, var: Any) -> None:
        """Add an existing variable to a column."""
        raise NotImplementedError("StateManager.add_variable")

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Return the variable `name` of a column. Raises ValueError if the column has no such
        variable.
        """
        raise NotImplementedError("StateManager.get_var")

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Register a lookup table that a column uses."""
        raise NotImplementedError("StateManager.add_resource")

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """Return the table `name` of a column. Raises ValueError if the column has no such
        table.
        """
        raise NotImplementedError("StateManager.get_resource")


class LayerStateManager(StateManager):
    """A state manager that creates variables as weights of a layer, in the current variable scope.

    Args:
      layer: the layer; None if the columns have no variables.
      trainable: whether variables may be trained.
    """

    def __init__(self, layer: Any, trainable: bool) -> None:
        self._layer, self._trainable = layer, trainable
        self._variables: dict[Any, dict[str, Any]] = defaultdict(dict)
        self._resources: dict[Any, dict[str, Any]] = defaultdict(dict)

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Create a weight of the layer. Raises ValueError if the column already has a variable
        `name`.
        """
        variables = self._variables[feature_column]
        if name in variables:
            raise ValueError("Variable already exists.")
        variables[name] = self._layer.add_weight(
            name=name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=self._trainable and trainable,
            use_resource=use_resource,
            **self._creation(),
        )
        return variables[name]

    def _creation(self) -> dict[str, Any]:
        """Return additional arguments for the layer's `add_weight`."""
        return {"getter": get_variable}

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Return the variable `name` of a column. Raises ValueError if the column has no such
        variable.
        """
        if name in self._variables[feature_column]:
            return self._variables[feature_column][name]
        raise ValueError("Variable does not exist.")

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Store a table of a column."""
        self._resources[feature_column][name] = resource

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """Return the table `name` of a column. Raises ValueError if the column has no such
        table.
        """
        if name in self._resources[feature_column]:
            return self._resources[feature_column][name]
        raise ValueError("Resource does not exist.")


class LayerStateManagerV2(LayerStateManager):
    """A state manager that creates variables as weights of a layer, outside of variable scopes."""

    def _creation(self) -> dict[str, Any]:
        return {}
