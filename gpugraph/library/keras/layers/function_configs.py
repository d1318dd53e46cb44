"""Configurations of the program's functions. A named function is stored as its name, any other
function as bytecode.

Bytecode is stored in Keras's format: the code from `marshal` in base64, the default arguments and
the contents of the closure. Bytecode from a configuration is run only if this process created that
configuration and did not read it from a file, or if `load_model(..., safe_mode=False)` permits it.
For a configuration that this process created, a named function is found without `custom_objects`,
unless another function of the same module has the same name.
"""

from __future__ import annotations

import base64
import builtins
import marshal
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.library.keras import backend
from gpugraph.library.keras.keras_objects import (
    check_code_of_files,
    object_named,
    own_functions,
    remember_own_code,
    remember_own_function,
)


def function_config(function: Callable[..., Any]) -> tuple[Any, str, str | None]:
    """Return a function's value for a configuration, its kind ("lambda" or "function"), and its
    module.

    The value is the bytecode of a lambda or the name of any other function. Raises ValueError for a
    callable object without a name.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", None)
    if name is None:
        raise ValueError(f"Cannot serialize {function!r}: it has no name and is not a lambda")
    if not isinstance(function, types.FunctionType):
        return name, "function", module
    if name != "<lambda>":
        remember_own_function(function, module)
        return name, "function", module
    return bytecode_of(function), "lambda", module


def bytecode_of(function: types.FunctionType) -> list[Any]:
    """Return a function's bytecode in base64, its default arguments, and its closure's contents."""
    code = base64.encodebytes(marshal.dumps(function.__code__)).decode("ascii")
    remember_own_code(code, function.__module__)
    contents = tuple(cell.cell_contents for cell in function.__closure__ or ())
    return [code, function.__defaults__, contents or None]


def function_of_config(
    value: Any, kind: str, module: str | None, custom_objects: Mapping[str, Any] | None, layer: str
) -> Any:
    """Return the function for the values that `function_config` returned.

    Raises ValueError for bytecode that must not be run, and for an unknown name.

    Args:
      layer: the name of the layer, for errors.
    """
    if kind == "function":
        known, kind = own_functions(value, module), f"function of the Lambda layer {layer}"
        return object_named(value, known, custom_objects, kind)
    if kind != "lambda":
        raise ValueError(f"Unknown function type: {kind!r} (layer {layer})")
    check_bytecode(f"the function of Lambda layer {layer}", value, module, True)
    return _function_of_code(value, module, custom_objects)


def check_bytecode(what: str, value: Any, module: str | None, is_refused_elsewhere: bool) -> None:
    """Raise ValueError if a configuration contains bytecode that must not be run.

    For the rules and the arguments, see `check_code_of_files`.
    """
    text = value[0] if isinstance(value, (list, tuple)) and value else value
    check_code_of_files(what, "is Python code", (text, module), is_refused_elsewhere)


def _function_of_code(
    value: Any, module: str | None, custom_objects: Mapping[str, Any] | None
) -> types.FunctionType:
    known = vars(sys.modules[module]) if module in sys.modules else {}
    names = {"K": backend, "tf": sys.modules.get("gpugraph"), **known, **(custom_objects or {})}
    return function_of_bytecode(value, {**names, "__builtins__": builtins})


def function_of_bytecode(value: Any, names: dict[str, Any]) -> types.FunctionType:
    """Return the function for a value from `bytecode_of`. The dict `names` contains the function's
    global names.

    Raises ValueError if the value does not contain the code of a function.
    """
    text, defaults, contents = value if isinstance(value, (list, tuple)) else (value, None, None)
    code = marshal.loads(base64.b64decode(text))
    if not isinstance(code, types.CodeType):
        raise ValueError(f"Expected the code of a function, found {type(code).__name__}")
    cells = tuple(types.CellType(content) for content in contents or ())
    kept = None if defaults is None else tuple(defaults)
    return types.FunctionType(code, names, code.co_name, kept, cells)
