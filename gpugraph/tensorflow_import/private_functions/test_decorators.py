"""Decorators of `tensorflow.python.framework.test_util`, which run tests in graphs only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from unittest import skip


def run_in_graph_and_eager_modes(
    func: Any = None,
    config: Any = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Decorate a test method to run in a graph and in its session. There is no eager execution.

    Args:
      config, use_gpu: the options of the session.
      reset_test, assert_no_eager_garbage: not used.
    """
    del reset_test, assert_no_eager_garbage

    def decorated(method: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(method, type):
            raise ValueError(
                "`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
                "`run_all_in_graph_and_eager_modes`?"
            )

        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            with self.test_session(use_gpu=use_gpu, config=config):
                method(self, *args, **kwargs)

        return run

    return decorated if func is None else decorated(func)


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Decorate all test methods of a class with `run_in_graph_and_eager_modes`."""
    for name in dir(cls):
        method = getattr(cls, name)
        if name.startswith("test") and callable(method) and name != "test_session":
            setattr(cls, name, run_in_graph_and_eager_modes(method))
    return cls


def unchanged(func: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a decorated test unchanged, because it runs in a graph in any case. Without a test,
    return this decorator.
    """
    return func if callable(func) else unchanged


def run_v2_only(func: Callable[..., Any] | None = None) -> Any:
    """Decorate a test method that needs TensorFlow 2. It is skipped."""
    decorator = skip("Test is only compatible with v2")
    return decorator(func) if func else decorator
