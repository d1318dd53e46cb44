"""The functions that define flags, and what their values may be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gpugraph.platform.flags.flag_values import FLAGS, Flag, FlagValues, Parser


def _bounded(
    convert: Callable[[Any], Any], what: str, lower: Any, upper: Any
) -> Callable[[Any], Any]:
    def parse(text: Any) -> Any:
        value = convert(text)
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            limits = [f"at least {lower}"] if lower is not None else []
            limits += [f"at most {upper}"] if upper is not None else []
            raise ValueError(f"{text} is not {what} of {' and '.join(limits)}")
        return value

    return parse


def _integer(value: Any) -> int:
    if isinstance(value, str):
        text = value.lower()
        return int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)
    if isinstance(value, bool) or int(value) != value:
        raise TypeError(f"expected an integer, got {value!r}")
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(f"expected a number, got {value!r}")
    return float(value)


_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def _boolean(value: Any) -> bool:
    text = str(value).lower()
    if text not in _TRUTH:
        raise ValueError(f"expected true or false, got {value!r}")
    return _TRUTH[text]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"flag value must be a string, found {value!r}")
    return value


def _parts(separator: str | None) -> Callable[[Any], list[str]]:
    def parse(value: Any) -> list[str]:
        if isinstance(value, (list, tuple)):
            return list(value)
        parts = [part.strip() for part in str(value).split(separator)]
        return parts if str(value) else []

    return parse


def _one_of(values: Any, case_sensitive: bool) -> Parser:
    known = {value if case_sensitive else value.lower(): value for value in values}

    def parse(value: Any) -> Any:
        match = known.get(value if case_sensitive else str(value).lower())
        if match is None:
            raise ValueError(f"value should be one of <{'|'.join(values)}>")
        return match

    return parse


# -- definitions

_OLDER = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _with_older_names(function: Callable[..., None]) -> Callable[..., None]:
    """Takes the arguments' names of TensorFlow's first releases too."""

    @functools.wraps(function)
    def define(*args: Any, **kwargs: Any) -> None:
        function(*args, **{_OLDER.get(key, key): value for key, value in kwargs.items()})

    return define


def _define(
    name: str,
    default: Any,
    help: str,
    flag_values: FlagValues,
    parse: Parser,
    short_name: str | None = None,
    boolean: bool = False,
    multiple: bool = False,
) -> None:
    flag = Flag(name, default, help, parse, boolean, multiple)
    flag_values[name] = flag
    if short_name is not None:
        flag_values[short_name] = flag


@_with_older_names
def DEFINE_string(
    name: str, default: Any, help: str, flag_values: FlagValues = FLAGS, **args: Any
) -> None:
    """A flag of text.

    As of all flags: `default` is its value where the command line has none, None if it has none;
    `flag_values` are the flags it is one of; `short_name`, if given, is another name of it.
    DuplicateFlagError where there is one of this name, IllegalFlagValueError for a default that
    is none of its values.
    """
    _define(name, default, help, flag_values, _text, **args)


@_with_older_names
def DEFINE_boolean(
    name: str, default: Any, help: str, flag_values: FlagValues = FLAGS, **args: Any
) -> None:
    """A flag that is true or false: `--name`, `--noname`, `--name=true`."""
    _define(name, default, help, flag_values, _boolean, boolean=True, **args)


DEFINE_bool = DEFINE_boolean


@_with_older_names
def DEFINE_integer(
    name: str,
    default: Any,
    help: str,
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """A flag that is an integer between the bounds."""
    parse = _bounded(_integer, "an integer", lower_bound, upper_bound)
    _define(name, default, help, flag_values, parse, **args)


@_with_older_names
def DEFINE_float(
    name: str,
    default: Any,
    help: str,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """A flag that is a number between the bounds."""
    parse = _bounded(_float, "a number", lower_bound, upper_bound)
    _define(name, default, help, flag_values, parse, **args)


@_with_older_names
def DEFINE_enum(
    name: str,
    default: Any,
    enum_values: Any,
    help: str,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """A flag that is one of the texts `enum_values`, in any case if not `case_sensitive`."""
    parse = _one_of(enum_values, args.pop("case_sensitive", True))
    _define(name, default, help, flag_values, parse, **args)


@_with_older_names
def DEFINE_list(
    name: str, default: Any, help: str, flag_values: FlagValues = FLAGS, **args: Any
) -> None:
    """A flag that is a list of texts, with commas between them."""
    _define(name, default, help, flag_values, _parts(","), **args)


@_with_older_names
def DEFINE_spaceseplist(
    name: str, default: Any, help: str, flag_values: FlagValues = FLAGS, **args: Any
) -> None:
    """A flag that is a list of texts, with white space between them."""
    _define(name, default, help, flag_values, _parts(None), **args)


@_with_older_names
def DEFINE_multi_string(
    name: str, default: Any, help: str, flag_values: FlagValues = FLAGS, **args: Any
) -> None:
    """A flag that may be given several times: a list of texts."""
    _define(name, default, help, flag_values, _text, multiple=True, **args)


@_with_older_names
def DEFINE_multi_integer(
    name: str,
    default: Any,
    help: str,
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """A flag that may be given several times: a list of integers between the bounds."""
    parse = _bounded(_integer, "an integer", lower_bound, upper_bound)
    _define(name, default, help, flag_values, parse, multiple=True, **args)


@_with_older_names
def DEFINE_multi_float(
    name: str,
    default: Any,
    help: str,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """A flag that may be given several times: a list of numbers between the bounds."""
    parse = _bounded(_float, "a number", lower_bound, upper_bound)
    _define(name, default, help, flag_values, parse, multiple=True, **args)


# -- rules


def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """`checker(value)` must be true of the flag's value whenever that is read or set.

    IllegalFlagValueError, with `message`, where it is not; `checker` may raise ValidationError.
    AttributeError where there is no such flag.
    """
    flag_values.add_check(flag_name, checker, message)


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Makes the function below it the validator of a flag."""

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, function, message, flag_values)
        return function

    return register


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """IllegalFlagValueError where the flag has no value once the command line is read."""
    register_validator(
        flag_name,
        lambda value: value is not None,
        f"Flag --{flag_name} must have a value other than None.",
        flag_values,
    )


def mark_flags_as_required(flag_names: Any, flag_values: FlagValues = FLAGS) -> None:
    """`mark_flag_as_required` of each."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)
