"""`tf.autograph`: conversion of Python functions to functions that build graphs."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from gpugraph.building.autograph.function_conversion import (
    conversion_error,
    converted_function,
    options_to_convert,
    set_log_level,
)


def to_graph(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:
    """Return the converted form of a function, method or class.

    If they depend on tensors, `if`, `while` and `for` statements, `and`, `or` and `not`, and
    conditional expressions become ops such as `tf.cond` and `tf.while_loop`. A method becomes a
    function with the object as its first argument. The methods of a class are converted in a
    subclass.

    Raises ConversionError, a ValueError, if the source code is not available or contains statements
    that can't be converted. Raises ModuleNotFoundError if the package diastatic-malt is not
    installed.

    Args:
      recursive: whether the functions that `entity` calls are converted too.
      experimental_optional_features: None, a `tf.autograph.experimental.Feature`, or several.
      arg_values, arg_types: ignored.
    """
    del arg_values, arg_types
    options = options_to_convert(recursive, experimental_optional_features)
    try:
        if inspect.isclass(entity):
            return _converted_class(entity, options)
        return converted_function(entity, options)
    except (ValueError, AttributeError, KeyError, NameError, AssertionError, OSError) as error:
        raise conversion_error(entity, error) from error
    except NotImplementedError as error:
        raise conversion_error(entity, error) from error


def _converted_class(entity: type, options: Any) -> type:
    methods = {
        name: converted_function(member, options)
        for name, member in vars(entity).items()
        if inspect.isfunction(member)
    }
    if not methods:
        raise ValueError(f"cannot convert {entity}: no member methods")
    return type(f"Tf{entity.__name__}", (entity,), methods)


def to_code(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """Return the source code of `to_graph(entity)`. For the parameters and errors, see `to_graph`.

    Args:
      indentation: ignored.
    """
    del indentation
    converted = to_graph(entity, recursive, arg_values, arg_types, experimental_optional_features)
    return textwrap.dedent(inspect.getsource(converted))


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set the amount of logging by conversions, from 0 (nothing) to 10 (everything).

    The default is the value of the environment variable AUTOGRAPH_VERBOSITY.

    Args:
      alsologtostdout: whether messages are also printed to the standard output.
    """
    set_log_level(level, alsologtostdout)


def trace(*args: Any) -> None:
    """Print the arguments while the graph is built."""
    print(*args)
