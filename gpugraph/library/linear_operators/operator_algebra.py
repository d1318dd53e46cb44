"""Products, solutions, adjoints, inverses and Cholesky factors of operators, as operators.

A function is registered for the classes of its operators. A call chooses the function that is
registered for the nearest base classes. `operator_registrations` registers this package's
functions. Programs can register more functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope

Function = Callable[..., Any]


class Registry:
    """The functions that are registered for one operation, by the classes of its operators."""

    def __init__(self, kind: str, scope: str) -> None:
        self._kind, self._scope = kind, scope
        self._functions: dict[tuple[type, ...], Function] = {}

    def register(self, classes: tuple[type, ...], function: Function) -> Function:
        """Register a function. Raises TypeError unless it is callable, and ValueError if these
        classes already have a function.
        """
        if not callable(function):
            raise TypeError(f"{self._kind}_fn must be callable, received: {function}")
        if classes in self._functions:
            names = ", ".join(one.__name__ for one in classes)
            kind = self._kind.capitalize()
            raise ValueError(
                f"{kind}({names}) has already been registered to: {self._functions[classes]}"
            )
        self._functions[classes] = function
        return function

    def __call__(self, *operators: Any, name: str | None = None) -> Any:
        """Call the function that is registered for the nearest base classes of the operators.

        Raises ValueError if no function is registered.
        """
        orders = [enumerate(type(operator).__mro__) for operator in operators]
        candidates = (
            (sum(distance for distance, _ in row), tuple(parent for _, parent in row))
            for row in itertools.product(*map(list, orders))
        )
        known = [pair for pair in candidates if pair[1] in self._functions]
        if not known:
            first, *others = (str(type(operator)) for operator in operators)
            call = f"{first}.{self._kind}({others[0]})" if others else first
            raise ValueError(f"No {self._kind} registered for {call}")
        _, classes = min(known, key=lambda pair: pair[0])
        with name_scope(name, self._scope):
            return self._functions[classes](*operators)


adjoint = Registry("adjoint", "Adjoint")
cholesky = Registry("cholesky decomposition", "Cholesky")
inverse = Registry("inverse", "Inverse")
matmul = Registry("matmul", "Matmul")
solve = Registry("solve", "Solve")


class _Register:
    """A decorator that registers a function for classes of operators."""

    _registry: Registry

    def __init__(self, *classes: type) -> None:
        self._classes = classes

    def __call__(self, function: Function) -> Function:
        return self._registry.register(self._classes, function)


class RegisterAdjoint(_Register):
    """`@RegisterAdjoint(Class)` registers a function that returns the adjoint of an operator."""

    _registry = adjoint


class RegisterCholesky(_Register):
    """`@RegisterCholesky(Class)` registers a function that returns the Cholesky factor of an
    operator.
    """

    _registry = cholesky


class RegisterInverse(_Register):
    """`@RegisterInverse(Class)` registers a function that returns the inverse of an operator."""

    _registry = inverse


class RegisterMatmul(_Register):
    """`@RegisterMatmul(ClassA, ClassB)` registers a function that returns the product of two
    operators.
    """

    _registry = matmul


class RegisterSolve(_Register):
    """`@RegisterSolve(ClassA, ClassB)` registers a function that returns inverse(a) @ b for two
    operators.
    """

    _registry = solve
