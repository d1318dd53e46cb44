"""Gradient functions by TensorFlow's names: `_Conv2DGrad` is the gradient of the op type Conv2D."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gpugraph.building.gradients.gradient_registry import gradient_of_type

_NAME = re.compile(r"_(\w+?)_?Grad$")


class _GradientsByName:
    """An object whose attributes are the gradient functions of op types."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        match = _NAME.match(name)
        function = gradient_of_type(match[1]) if match else None
        if function is None:
            raise AttributeError(name)
        return function

    def __dir__(self) -> list[str]:
        return []


GRADIENTS = _GradientsByName()
