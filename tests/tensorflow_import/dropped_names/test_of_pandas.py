"""Arguments and attributes that pandas has dropped, as `gpugraph run` provides them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_dropped_imports import run

pytest.importorskip("pandas")

PROGRAM = """
import io
import numpy as np
import pandas as pd

def table():
    return pd.DataFrame({"a": [1., 2., np.nan, 4.], "b": [4, 3, 2, 1], "c": list("xyzx")})

def times():
    return pd.Series(np.arange(48.), pd.date_range("2017-01-01", periods=48, freq="D"))

# arguments by position
assert list(table().drop("a", 1).columns) == ["b", "c"]
assert pd.concat([table(), table()], 1).shape == (4, 6)
assert table().sort_values("b", 0, False)["b"].tolist() == [4, 3, 2, 1]
assert pd.read_csv(io.StringIO("a;b\\n1;2\\n"), ";").shape == (1, 2)
assert pd.DataFrame({"u": [1, 1], "i": [1, 2], "r": [3., 4.]}).pivot("u", "i", "r").shape == (1, 2)
# arguments
assert table().fillna(method="ffill")["a"].tolist() == [1, 2, 2, 4]
assert pd.read_csv(io.StringIO("a b\\n1 2\\n"), delim_whitespace=True).shape == (1, 2)
assert pd.read_csv(io.StringIO("a\\n1\\n2\\n"), squeeze=True).tolist() == [1, 2]
assert "\\n" in table().to_csv(None, line_terminator="\\n")
read = pd.read_csv(io.StringIO("d,b\\n2017-01-02,2\\n"), parse_dates=[0],
                   date_parser=lambda text: pd.datetime.strptime(text, "%Y-%m-%d"))
assert read["d"][0].day == 2
# frequencies
assert len(pd.date_range("2017-01-01", periods=3, freq="15T")) == 3
assert len(times().resample("M").mean()) == 2 and len(times().asfreq("12H")) == 95
assert len(times().groupby(pd.Grouper(freq="M")).sum()) == 2
# columns that are not numbers, positions, arrays that can be written to
assert table().mean().index.tolist() == ["a", "b"] and table().corr().shape == (2, 2)
assert times()[-1] == 47 and times()[0] == 0
values = table()["b"].values
values[0] = 9
# columns of a table
df = table()
df["b"][0] = 9
df["a"].fillna(0, inplace=True)
df.a[df.a > 3] = -1
assert df["b"].tolist() == [9, 3, 2, 1] and df["a"].tolist() == [1, 2, 0, -1]
column = df["b"]
df["b"] = 0
column[0] = 5
assert df["b"].tolist() == [0, 0, 0, 0]
# attributes
assert pd.value_counts(df["c"])["x"] == 2 and pd.rolling_mean(times(), 3)[2] == 1
assert table().set_value(0, "b", 7).at[0, "b"] == 7 and table()["b"].clip_lower(2).min() == 2
try:
    table().drop("a", 1, None, None, None, False, "raise", "one too many")
except TypeError:
    print("all there")
"""


def test_a_program_of_the_time(tmp_path: Path) -> None:
    result = run(tmp_path, PROGRAM)
    assert result.stdout == "all there\n", result.stderr
