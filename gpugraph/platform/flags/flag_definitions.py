"""The functions that define flags, and the parsers of their values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gpugraph.base.named_function import named
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
    """Wrap a function so that it also accepts the parameter names of TensorFlow's first releases
    (`_OLDER`).
    """

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


def _definition(
    type_name: str, parse: Parser, doc: str, boolean: bool = False, multiple: bool = False
) -> Callable[..., None]:
    """Return a function `DEFINE_...` that defines flags of one type.

    Args:
      type_name, doc: the name and docstring of the function.
      parse: a function that converts the flag's text to its value.
      multiple: whether the flag may be repeated.
    """

    @_with_older_names
    @named(type_name, doc)
    def define(
        name: str, default: Any, help: str, flag_values: FlagValues = FLAGS, **args: Any
    ) -> None:
        flag = name, default, help, flag_values, parse
        _define(*flag, boolean=boolean, multiple=multiple, **args)

    return define


def _number_definition(
    type_name: str, convert: Parser, number_kind: str, doc: str, multiple: bool = False
) -> Callable[..., None]:
    """Return a function `DEFINE_...` that defines flags of a numeric type, whose values may have
    bounds. See `_definition` for the remaining arguments.

    Args:
      convert: a function that converts the flag's text to a number.
      number_kind: the kind of number that error messages name.
    """

    @_with_older_names
    @named(type_name, doc)
    def define(
        name: str,
        default: Any,
        help: str,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        flag_values: FlagValues = FLAGS,
        **args: Any,
    ) -> None:
        parse = _bounded(convert, number_kind, lower_bound, upper_bound)
        _define(name, default, help, flag_values, parse, multiple=multiple, **args)

    return define


DEFINE_string = _definition(
    "DEFINE_string",
    _text,
    """Define a flag whose value is a string.

    As for all flags: `default` is the value if the command line has none, and may be None;
    `flag_values` is the collection that the flag is added to; `short_name` is an optional second
    name. DuplicateFlagError if the name is taken, IllegalFlagValueError for an invalid default.
    """,
)
DEFINE_boolean = _definition(
    "DEFINE_boolean",
    _boolean,
    "Define a flag that is true or false: `--name`, `--noname`, `--name=true`.",
    boolean=True,
)
DEFINE_bool = DEFINE_boolean
DEFINE_list = _definition(
    "DEFINE_list", _parts(","), "Define a flag that is a list of strings, separated by commas."
)
DEFINE_spaceseplist = _definition(
    "DEFINE_spaceseplist",
    _parts(None),
    "Define a flag that is a list of strings, separated by white space.",
)
DEFINE_multi_string = _definition(
    "DEFINE_multi_string",
    _text,
    "Define a flag that may be repeated: a list of strings.",
    multiple=True,
)
DEFINE_integer = _number_definition(
    "DEFINE_integer", _integer, "an integer", "Define a flag that is an integer between the bounds."
)
DEFINE_float = _number_definition(
    "DEFINE_float", _float, "a number", "Define a flag that is a number between the bounds."
)
DEFINE_multi_integer = _number_definition(
    "DEFINE_multi_integer",
    _integer,
    "an integer",
    "Define a flag that may be repeated: a list of integers between the bounds.",
    multiple=True,
)
DEFINE_multi_float = _number_definition(
    "DEFINE_multi_float",
    _float,
    "a number",
    "Define a flag that may be repeated: a list of numbers between the bounds.",
    multiple=True,
)


@_with_older_names
def DEFINE_enum(
    name: str,
    default: Any,
    enum_values: Any,
    help: str,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """Define a flag whose value is one of the strings `enum_values`.

    If the keyword argument `case_sensitive` is False, the command line need not match their case.
    The default is True.
    """
    parse = _one_of(enum_values, args.pop("case_sensitive", True))
    _define(name, default, help, flag_values, parse, **args)


# -- validators


def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Require that `checker(value)` is true whenever the flag's value is parsed or set.

    If it is not, IllegalFlagValueError is raised with `message`. `checker` may also raise
    ValidationError. Raises AttributeError if there is no flag of this name.
    """
    flag_values.add_check(flag_name, checker, message)


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator that calls `register_validator` with the decorated function as
    `checker`.
    """

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, function, message, flag_values)
        return function

    return register


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Make parsing of the command line raise IllegalFlagValueError if the flag's value is None."""
    register_validator(
        flag_name,
        lambda value: value is not None,
        f"Flag --{flag_name} must have a value other than None.",
        flag_values,
    )


def mark_flags_as_required(flag_names: Any, flag_values: FlagValues = FLAGS) -> None:
    """Apply `mark_flag_as_required` to each flag."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)
