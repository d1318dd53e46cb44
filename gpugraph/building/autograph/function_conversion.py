"""Conversion of functions whose statements depend on tensors, and calls of converted functions.

Converted code makes its calls through `converted_call`, which converts the called function unless
it belongs to a library (`conversion_rules`).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.optional_packages import package_of_extra
from gpugraph.building.autograph import (
    branch_operators,
    builtin_operators,
    conversion_rules,
    function_scope,
    list_operators,
    loop_operators,
    undefined_values,
)
from gpugraph.building.autograph.error_translation import ConversionError, add_line, translated
from gpugraph.building.autograph.loop_options import Feature, set_loop_options
from gpugraph.graph.client.autograph_status import (
    AutographStatus,
    ControlStatusCtx,
    control_status_ctx,
)
from gpugraph.graph.client.creation_origin import add_generated_code
from gpugraph.platform import logging

_PACKAGE = ("autograph", "diastatic-malt", "Functions that branch on tensors (tf.autograph)")

_FRAME_FUNCTIONS: tuple[Any, ...] = (eval, super, globals, locals)


@functools.cache
def _malt() -> Any:
    """Return the module that adapts diastatic-malt. Raises ModuleNotFoundError, with the name of
    the extra, if diastatic-malt is not installed.
    """
    with package_of_extra(*_PACKAGE):
        return importlib.import_module("gpugraph.building.autograph.malt_transpiler")


@functools.cache
def is_available() -> bool:
    """Return whether functions can be converted, which requires diastatic-malt."""
    try:
        _malt()
    except ModuleNotFoundError:
        return False
    return True


@functools.cache
def _transpiler() -> Any:
    operators = {
        name: getattr(module, name)
        for module, names in _OPERATORS.items()
        for name in names.split()
    }
    operators["converted_call"] = converted_call
    operators["autograph_artifact"] = conversion_rules.as_artifact
    return _malt().Transpiler(operators, set_loop_options, list_operators.set_element_type)


_OPERATORS: dict[Any, str] = {
    branch_operators: "if_stmt if_exp and_ or_ not_ eq not_eq assert_stmt",
    builtin_operators: "float_ int_ len_ print_ range_",
    function_scope: "FunctionScope with_function_scope",
    list_operators: (
        "ListPopOpts ListStackOpts GetItemOpts new_list list_append list_pop list_stack get_item "
        "set_item update_item_with_op"
    ),
    loop_operators: "for_stmt while_stmt",
    undefined_values: "ld ldu Undefined UndefinedReturnValue",
}
"""The names after `ag__.` in converted code, by our modules."""


def feature_names(features: Any) -> tuple[str, ...]:
    """Return the names of the features in `experimental_optional_features`, which is None, one
    Feature, or several.
    """
    if features is None:
        return ()
    if isinstance(features, Feature):
        features = (features,)
    return tuple(sorted(feature.name for feature in features))


def converted_function(function: Any, options: Any) -> Any:
    """Return the converted form of a function or method. A converted method takes its object as the
    first argument.
    """
    if not hasattr(function, "__code__"):
        raise ValueError(
            "Cannot apply autograph to a function that doesn't expose a __code__ object. If this "
            "is a @tf.function, try passing f.python_function instead."
        )
    new, module, source_map = _transpiler().transform(function, _malt().program_context(options))
    add_generated_code(
        module.__file__,
        {
            place.lineno: (origin.loc.filename, origin.loc.lineno, origin.function_name)
            for place, origin in source_map.items()
        },
    )
    new.ag_module = module
    return conversion_rules.as_artifact(new)


def converted_call(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    caller_fn_scope: Any = None,
    options: Any = None,
) -> Any:
    """Call `f`. If the conversion rules permit it, convert `f` first.

    Args:
      caller_fn_scope: the scope of the converted function that makes the call.
      options: the options of the conversion, by default the options of that scope.
    """
    if options is None:
        if caller_fn_scope is None:
            raise ValueError("either caller_fn_scope or options must have a value")
        options = caller_fn_scope.callopts
    kwargs = kwargs or {}
    if isinstance(f, functools.partial):
        joined = {**f.keywords, **kwargs}
        return converted_call(f.func, f.args + tuple(args), joined, caller_fn_scope, options)
    if control_status_ctx().status is AutographStatus.DISABLED:
        return f(*args, **kwargs)
    if any(f is function for function in _FRAME_FUNCTIONS):
        return builtin_operators.in_callers_frame(f, tuple(args), caller_fn_scope)
    if builtin_operators.is_builtin(f):
        return builtin_operators.overload_of(f)(*args, **kwargs)
    converted = None if _stays(f, options) else _converted_or_none(f, options)
    if converted is None:
        return f(*args, **kwargs)
    owner = getattr(f, "__self__", None) if inspect.ismethod(f) else None
    if owner is not None:
        args = (owner, *args)
    elif not inspect.isfunction(f):
        args = (f, *args)
    try:
        return converted(*args, **kwargs)
    except Exception as error:
        add_line(error, sys.exc_info()[2])
        raise


def _stays(f: Any, options: Any) -> bool:
    """Return whether a callable must be called without conversion."""
    if conversion_rules.is_artifact(f) or conversion_rules.is_unsupported(f):
        return True
    if not options.user_requested and conversion_rules.is_allowed(f):
        return True
    return not options.internal_convert_user_code


def _converted_or_none(f: Any, options: Any) -> Any:
    """Return the converted function. If the conversion fails, log a warning and return None."""
    target = f if inspect.isfunction(f) or inspect.ismethod(f) else type(f).__call__
    code = getattr(target, "__code__", None)
    if code is None or code.co_filename == "<string>":
        return None
    try:
        return converted_function(target, options)
    except Exception as error:
        if raised_by_handler(error):
            raise
        logging.warning(
            "AutoGraph could not transform %s and will run it as-is.\nCause: %s\nTo silence this "
            "warning, decorate the function with @tf.autograph.experimental.do_not_convert",
            f,
            error,
        )
        return None


def convert(
    recursive: bool = False, optional_features: Any = None, user_requested: bool = True
) -> Callable[[Any], Any]:
    """Decorate a function so that each call converts it and the functions that it calls.

    Without diastatic-malt the function runs unconverted; if it branches on a tensor, the error
    names the extra to install.
    """

    def decorator(f: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if conversion_rules.is_unsupported(f) or (
                not user_requested and conversion_rules.is_allowed(f)
            ):
                return f(*args, **kwargs)
            if not is_available():
                with ControlStatusCtx(AutographStatus.MISSING):
                    return f(*args, **kwargs)
            names = feature_names(optional_features)
            options = _malt().options_of(recursive, user_requested, names)
            try:
                return converted_call(f, args, kwargs, options=options)
            except Exception as error:
                new = error if raised_by_handler(error) else translated(error)
                if new is error:
                    raise
                raise new from new.__cause__

        if inspect.isfunction(f) or inspect.ismethod(f):
            wrapper = functools.update_wrapper(wrapper, f)
        return conversion_rules.as_artifact(wrapper)

    return decorator


def do_not_convert(func: Any = None) -> Any:
    """Decorate a function so that neither it nor the functions that it calls are converted."""
    if func is None:
        return do_not_convert

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with ControlStatusCtx(AutographStatus.DISABLED):
            return func(*args, **kwargs)

    if inspect.isfunction(func) or inspect.ismethod(func):
        wrapper = functools.update_wrapper(wrapper, func)
    return conversion_rules.as_artifact(wrapper)


def tf_convert(f: Any, ctx: ControlStatusCtx, convert_by_default: bool = True) -> Any:
    """Return `f`, a function that the user has passed to the library, in the form that the library
    should call.

    Args:
      ctx: the AutoGraph status where the user called the library. It determines whether `f` is
        converted.
      convert_by_default: whether `f` is converted if that status is unspecified.
    """
    if conversion_rules.is_artifact(f):
        return f
    if ctx.status is AutographStatus.DISABLED:
        return do_not_convert(f)
    if ctx.status is AutographStatus.UNSPECIFIED and not convert_by_default:
        return f
    return convert(recursive=True, user_requested=False)(f)


def options_to_convert(recursive: bool, features: Any) -> Any:
    """Return the conversion options for `to_graph`."""
    return _malt().options_of(recursive, True, feature_names(features))


def conversion_error(entity: Any, error: Exception) -> ConversionError:
    """Return the error that `to_graph` raises for an entity that can't be converted."""
    return ConversionError(f"converting {entity}: {type(error).__name__}: {error}")


def set_log_level(level: int | None, to_stdout: bool) -> None:
    """Set the verbosity of the conversion's logs. Do nothing if diastatic-malt is not installed."""
    with nullcontext():
        if is_available():
            _malt().set_log_level(level, to_stdout)
