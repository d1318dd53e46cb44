"""Arguments, attributes and defaults that pandas has dropped in versions 1 to 3."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from gpugraph.tensorflow_import.modules_by_name import module_named

_SPECIAL = ("fillna", "pivot")
"""Methods whose positional arguments had another order."""

_FREQUENCIES = {
    **{old: old.lower() for old in "HSN"},
    **{"T": "min", "L": "ms", "U": "us", "BH": "bh", "CBH": "cbh"},
    **{f"{prefix}M": f"{prefix}ME" for prefix in ("", "B", "S", "CB")},
    **{f"{prefix}{old}": f"{prefix}{new}E" for prefix in ("", "B") for old, new in
       (("Q", "Q"), ("A", "Y"), ("Y", "Y"))},
    **{f"{prefix}A{suffix}": f"{prefix}Y{suffix}" for prefix in ("", "B") for suffix in ("S",)},
}  # fmt: skip
"""By the name of a frequency before pandas 2.2, its present name."""

_IGNORED = ("infer_datetime_format", "mangle_dupe_cols", "tupleize_cols", "as_recarray",
            "buffer_lines", "compact_ints", "use_unsigned", "verbose", "warn_bad_lines",
            "keep_date_col")  # fmt: skip
_NUMERIC = ("corr", "cov", "kurt", "max", "mean", "median", "min", "quantile", "sem", "skew",
            "std", "sum", "var")  # fmt: skip


def restore(pandas: Any) -> None:
    """Restore the arguments and defaults of pandas before version 1, for this process."""
    with warnings.catch_warnings(), suppress(pandas.errors.OptionError):
        warnings.simplefilter("ignore")
        pandas.set_option("future.infer_string", False)
    for owner in (pandas.DataFrame, pandas.Series):
        for name in dir(owner):
            method = inspect.getattr_static(owner, name)
            if not name.startswith("_") and isinstance(method, FunctionType):
                setattr(owner, name, accept_positions(method) if name not in _SPECIAL else method)
        _restore_methods(owner)
        for name in ("resample", "asfreq", "shift"):
            setattr(owner, name, _with_frequency(getattr(owner, name)))
        owner.values = _writable(inspect.getattr_static(owner, "values"))
    for name in _NUMERIC:
        setattr(pandas.DataFrame, name, _of_numbers(getattr(pandas.DataFrame, name)))
    for name, function in list(vars(pandas).items()):
        if not name.startswith("_") and isinstance(function, FunctionType):
            setattr(pandas, name, accept_positions(function))
    for name in ("date_range", "bdate_range", "timedelta_range", "period_range"):
        setattr(pandas, name, _with_frequency(getattr(pandas, name)))
    grouper = module_named("pandas.core.resample").TimeGrouper
    grouper.__init__ = _with_frequency(grouper.__init__)
    for name in ("read_csv", "read_table"):
        setattr(pandas, name, _reader(getattr(pandas, name)))
    pandas.Series.__getitem__ = _by_position(pandas.Series.__getitem__)
    if int(pandas.__version__.partition(".")[0]) >= 3:
        _write_through(pandas)


def accept_positions(function: Any) -> Any:
    """Return a function that also accepts its keyword arguments by position, in their order."""
    parameters = inspect.signature(function).parameters.values()
    kinds = [parameter.kind for parameter in parameters]
    count = sum(kind in (inspect.Parameter.POSITIONAL_ONLY,
                         inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)  # fmt: skip
    further = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    if inspect.Parameter.VAR_POSITIONAL in kinds or not further:
        return function

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        extra = dict(zip(further, args[count:]))
        if not extra or len(args) - count > len(further) or extra.keys() & options.keys():
            return function(*args, **options)
        return function(*args[:count], **extra, **options)

    return call


def _restore_methods(owner: Any) -> None:
    """Restore `fillna(method=)`, the order of `pivot`, and the argument `line_terminator`."""
    fillna, to_csv = owner.fillna, owner.to_csv

    @functools.wraps(fillna)
    def fill(table: Any, value: Any = None, method: str | None = None, *args: Any, **kw: Any) -> Any:  # fmt: skip  # noqa: E501
        kw.update(zip(("axis", "inplace", "limit"), args))
        if method is None:
            return fillna(table, value, **kw)
        return (table.ffill if method in ("ffill", "pad") else table.bfill)(**kw)

    @functools.wraps(to_csv)
    def write(table: Any, *args: Any, **kw: Any) -> Any:
        if "line_terminator" in kw:
            kw["lineterminator"] = kw.pop("line_terminator")
        return to_csv(table, *args, **kw)

    owner.fillna, owner.to_csv = fill, write
    if hasattr(owner, "pivot"):
        pivot = owner.pivot

        @functools.wraps(pivot)
        def pivoted(table: Any, *args: Any, **kw: Any) -> Any:
            return pivot(table, **dict(zip(("index", "columns", "values"), args)), **kw)

        owner.pivot = pivoted


def frequency(text: Any) -> Any:
    """Return the present name of a frequency such as `15T` or `2M`. Other values stay."""
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(-?[\d.]*)([A-Z]+)(-[A-Z]{3})?", text)
    if match is None or match[2] not in _FREQUENCIES:
        return text
    return f"{match[1]}{_FREQUENCIES[match[2]]}{match[3] or ''}"


def _with_frequency(function: Any) -> Any:
    """Return a function that first gets frequencies by their earlier names, and the present names
    only after an error. Periods still have the earlier names.
    """

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except ValueError:
            new = {key: frequency(value) if key in ("freq", "rule") else value
                   for key, value in options.items()}  # fmt: skip
            places = [args[0], *map(frequency, args[1:])] if args else []
            return function(*places, **new)

    return call


def _writable(values: Any) -> Any:
    """Return the property `values` with arrays that can be written to."""

    def get(table: Any) -> Any:
        array = values.fget(table)
        is_read_only = isinstance(array, np.ndarray) and not array.flags.writeable
        return array.copy() if is_read_only else array

    return property(get, values.fset, doc=values.__doc__)


def _of_numbers(method: Any) -> Any:
    """Return a reduction of a table that leaves out columns that are not numbers."""

    @functools.wraps(method)
    def reduce(table: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(table, *args, **options)
        except (TypeError, ValueError):
            if "numeric_only" in options:
                raise
            return method(table, *args, numeric_only=True, **options)

    return reduce


def _by_position(getitem: Any) -> Any:
    """Return `Series.__getitem__` that takes an integer for a position, if labels are not
    integers.
    """

    @functools.wraps(getitem)
    def get(series: Any, key: Any) -> Any:
        try:
            return getitem(series, key)
        except KeyError:
            is_number = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
            if (
                not is_number
                or series.index.dtype.kind in "iu"
                or not -len(series) <= key < len(series)
            ):
                raise
            return series.iloc[key]

    return get


_COLUMN = "_column_of_table"
"""The attribute of a column with its table and its name."""


def _write_through(pandas: Any) -> None:
    """Let `table["x"][0] = 1` and `table["x"].fillna(0, inplace=True)` change the table, as before
    version 3. There, a column is a copy as soon as it is written to.
    """
    getitem, setitem = pandas.DataFrame.__getitem__, pandas.Series.__setitem__

    @functools.wraps(getitem)
    def get(table: Any, key: Any) -> Any:
        column = getitem(table, key)
        if isinstance(column, pandas.Series) and isinstance(key, (str, int)):
            object.__setattr__(column, _COLUMN, (weakref.ref(table), key))
        return column

    @functools.wraps(setitem)
    def set_element(column: Any, key: Any, value: Any) -> None:
        _changed_in_table(column, lambda: setitem(column, key, value))

    pandas.DataFrame.__getitem__, pandas.Series.__setitem__ = get, set_element
    for name in ("fillna", "replace", "clip", "interpolate", "ffill", "bfill", "where", "mask"):
        setattr(pandas.Series, name, _inplace(getattr(pandas.Series, name)))


def _inplace(method: Any) -> Any:
    @functools.wraps(method)
    def call(column: Any, *args: Any, **options: Any) -> Any:
        if not options.get("inplace"):
            return method(column, *args, **options)
        return _changed_in_table(column, lambda: method(column, *args, **options))

    return call


def _changed_in_table(column: Any, change: Callable[[], Any]) -> Any:
    """Call a function that changes a column, and put the column into its table. If the table has
    another column by the name since, only `column` changes.
    """
    reference, name = vars(column).get(_COLUMN, (lambda: None, None))
    table: Any = reference()
    is_part = table is not None and name in table and _share(table[name], column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = change()
    if is_part:
        table[name] = column
    return result


def _share(first: Any, second: Any) -> bool:
    left, right = first.array, second.array
    if isinstance(first.dtype, np.dtype) and isinstance(second.dtype, np.dtype):
        return bool(np.may_share_memory(np.asarray(left), np.asarray(right)))
    return left is right


def _reader(read: Callable[..., Any]) -> Any:
    """Return `read_csv` with the arguments that pandas has dropped."""

    @functools.wraps(read)
    def call(*args: Any, **options: Any) -> Any:
        for name in [name for name in options if name in _IGNORED]:
            del options[name]
        if options.pop("delim_whitespace", False):
            options["sep"] = r"\s+"
        if options.pop("error_bad_lines", True) is False:
            options["on_bad_lines"] = "skip"
        squeeze = options.pop("squeeze", False)
        prefix, parser = options.pop("prefix", None), options.pop("date_parser", None)
        dates = options.pop("parse_dates", None) if parser else None
        table = read(*args, **options)
        if isinstance(prefix, str):
            table.columns = [f"{prefix}{name}" for name in table.columns]
        for column in dates if isinstance(dates, (list, tuple)) else ():
            name = table.columns[column] if isinstance(column, int) else column
            table[name] = [parser(text) for text in table[name]]
        return table.squeeze("columns") if squeeze else table

    return call


# -- attributes


def set_value(table: Any, index: Any, col: Any, value: Any = None) -> Any:
    """Set one element of a table, and return the table."""
    table.at[index, col] = value
    return table


def nonzero(series: Any) -> Any:
    """Return the positions of the elements that are not zero, as `numpy.nonzero` does."""
    return series.to_numpy().nonzero()


def get_values(table: Any) -> Any:
    """Return the values as an array."""
    return table.values


def mad(table: Any, axis: int = 0) -> Any:
    """Return the mean of the absolute differences from the mean."""
    return (table - table.mean(axis=axis)).abs().mean(axis=axis)


def clip_lower(table: Any, threshold: Any) -> Any:
    """Return the table with values that are at least `threshold`."""
    return table.clip(lower=threshold)


def clip_upper(table: Any, threshold: Any) -> Any:
    """Return the table with values that are at most `threshold`."""
    return table.clip(upper=threshold)


def boolean(table: Any) -> bool:
    """Return the only element of a table as a bool."""
    return bool(table.to_numpy().item())


def tshift(table: Any, periods: int = 1, freq: Any = None) -> Any:
    """Return the table with its times shifted by a number of periods."""
    return table.shift(periods, freq=freq or table.index.freq or table.index.inferred_freq)


def lookup(table: Any, row_labels: Any, col_labels: Any) -> Any:
    """Return the elements at pairs of labels."""
    return np.array([table.at[row, column] for row, column in zip(row_labels, col_labels)])


def sort(table: Any, columns: Any = None, axis: int = 0, ascending: bool = True) -> Any:
    """Return the table sorted by columns, or by its labels."""
    if columns is None:
        return table.sort_index(axis=axis, ascending=ascending)
    return table.sort_values(by=columns, axis=axis, ascending=ascending)


def value_counts(values: Any, **options: Any) -> Any:
    """Return how often each value occurs."""
    return module_named("pandas").Series(values).value_counts(**options)


def _index(dtype: str) -> Any:
    def index(data: Any = None, **options: Any) -> Any:
        return module_named("pandas").Index(data, dtype=dtype, **options)

    return index


Int64Index, UInt64Index, Float64Index = _index("int64"), _index("uint64"), _index("float64")
"""Indices of numbers of one dtype."""


def _window(kind: str, statistic: str) -> Any:
    def of(table: Any, *args: Any, **options: Any) -> Any:
        return getattr(getattr(table, kind)(*args, **options), statistic)()

    return of


rolling_mean, rolling_std = _window("rolling", "mean"), _window("rolling", "std")
rolling_sum, rolling_max = _window("rolling", "sum"), _window("rolling", "max")
rolling_min, expanding_mean = _window("rolling", "min"), _window("expanding", "mean")
ewma = _window("ewm", "mean")
"""Statistics of windows, which are methods now."""

WEEK = property(lambda times: times.isocalendar().week)
"""The number of the week: `weekofyear` of times."""
WEEKDAY_NAME = property(lambda times: times.day_name())
"""The names of days: `weekday_name` of times."""
