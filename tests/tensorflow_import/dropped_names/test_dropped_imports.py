"""Names that Python and its libraries have dropped, as `gpugraph run` provides them."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from gpugraph.tensorflow_import.dropped_names.dropped_imports import _value
from gpugraph.tensorflow_import.dropped_names.dropped_table import ADDED, NEW_MODULES
from gpugraph.tensorflow_import.dropped_names.of_numpy import issubdtype_of_the_time

PROGRAM = """
import collections, inspect, time, unittest
import numpy as np
from collections import Mapping

assert isinstance({}, Mapping) and collections.Iterable is collections.abc.Iterable
assert inspect.getargspec(lambda a, b=1, *c: 0) == (["a", "b"], "c", None, (1,))
assert time.clock() >= 0
assert np.float is float and np.int is int and np.object is object and np.Inf == np.inf
assert np.asscalar(np.array([3.0])) == 3.0
assert np.reshape(np.arange(4), newshape=(2, 2)).shape == (2, 2)
assert np.array([[1], [1, 2]]).tolist() == [[1], [1, 2]]
assert np.array(np.ones(2), copy=False).shape == (2,)
assert hasattr(unittest.TestCase, "assertItemsEqual")
assert not hasattr(np, "no_such_name")
print("all there")
"""


NUMPY_1_ONLY = {"geterrobj", "seterrobj", "add_newdoc_ufunc", "tracemalloc_domain"}
"""Names of NumPy 1 for its own code, which programs do not use."""


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="names of NumPy 1")
def test_all_names_that_numpy_2_has_dropped_are_in_the_table() -> None:
    dropped = importlib.import_module("numpy._expired_attrs_2_0").__expired_attributes__
    restored = set(ADDED["numpy"])
    assert {name for name in dropped if not hasattr(np, name)} - restored == NUMPY_1_ONLY


def run(tmp_path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "old.py"
    file.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "gpugraph", "run", str(file)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_a_program_of_the_time_runs_and_is_told_once(tmp_path) -> None:
    result = run(tmp_path, PROGRAM)
    assert result.stdout == "all there\n", result.stderr
    assert result.stderr.count("gpugraph run: ") == 1
    assert "collections.Mapping" in result.stderr and "old.py:4" in result.stderr


@pytest.mark.skipif(hasattr(np.ndarray, "tostring"), reason="NumPy still has tostring")
def test_a_method_is_told_when_it_is_called(tmp_path) -> None:
    result = run(tmp_path, "import numpy\nnumpy.ndarray.tostring\nnumpy.ones(1, 'u1').tostring()")
    assert "numpy.ndarray.tostring (" in result.stderr and "old.py:3" in result.stderr


def test_a_switch_turns_it_off(tmp_path) -> None:
    result = run(tmp_path, "from collections import Mapping", GPUGRAPH_DROPPED_NAMES="0")
    assert result.returncode == 1
    assert "cannot import name 'Mapping'" in result.stderr


def test_a_program_of_today_is_told_nothing(tmp_path) -> None:
    assert run(tmp_path, "import collections.abc, numpy").stderr == ""


@pytest.mark.parametrize(
    ("types", "kind", "others"),
    [
        ([np.float16, np.float32, "float64"], float, [np.int32, np.complex64, np.bool_]),
        ([np.int8, np.int32, np.int64], int, [np.uint8, np.float64, np.bool_]),
        ([np.complex64, np.complex128], complex, [np.float32]),
        ([np.dtype("U3")], str, [np.dtype("S3")]),
        ([np.float32, np.uint8], np.number, [np.bool_]),
        ([np.float64], np.float64, [np.float32]),
        ([np.bool_], bool, [np.int8]),
    ],
)
def test_python_types_are_kinds_of_all_sizes_in_issubdtype(types, kind, others) -> None:
    issubdtype = issubdtype_of_the_time(np.issubdtype)
    assert [issubdtype(dtype, kind) for dtype in types] == [True] * len(types)
    assert not any(issubdtype(dtype, kind) for dtype in others)


def test_a_program_of_the_time_calls_the_old_issubdtype(tmp_path) -> None:
    calls = "np.issubdtype(np.float32, float), np.issubdtype('i2', int)"
    program = f"import numpy as np; print({calls})"
    assert run(tmp_path, program).stdout == "True True\n"
    switched_off = run(tmp_path, program, GPUGRAPH_DROPPED_NAMES="0")
    assert switched_off.stdout == "False False\n"


BUILT_IN = (*sys.stdlib_module_names, "numpy", "builtins", "own")


@pytest.mark.parametrize("module", [*ADDED, *NEW_MODULES])
def test_every_value_of_the_standard_library_and_numpy_is_there(module: str) -> None:
    for name, value in {**ADDED.get(module, {}), **NEW_MODULES.get(module, {})}.items():
        if value.partition(".")[0] in BUILT_IN and not value.startswith("@"):
            assert _value(value) is not None or name.startswith("__"), f"{module}.{name}={value}"


def test_modules_that_are_gone_are_created(tmp_path) -> None:
    program = """
        import sys
        for name in ("imp", "distutils", "distutils.version", "pkg_resources", "pipes"):
            sys.modules.pop(name, None)

        class Hidden:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("imp", "distutils", "pkg_resources", "pipes"):
                    makers = [f for f in sys.meta_path if type(f).__name__ == "_Maker"]
                    return makers[0].find_spec(name, path, target)

        sys.meta_path.insert(0, Hidden())
        import imp, pipes, pkg_resources
        from distutils.version import LooseVersion, StrictVersion
        from distutils.spawn import find_executable
        assert LooseVersion("1.15.5") > LooseVersion("1.4.0") > "1.3"
        assert StrictVersion("1.2") < StrictVersion("1.10")
        assert imp.new_module("made").__name__ == "made"
        assert pipes.quote("a b") == "'a b'"
        assert pkg_resources.parse_version("2.0") > pkg_resources.parse_version("1.9")
        assert find_executable("python3") or find_executable("python")
        print("made")
    """
    result = run(tmp_path, program)
    assert result.stdout == "made\n", result.stderr


ARRAY_METHODS = """
import array
import numpy as np

a = np.arange(4, dtype=np.uint8)
print(a.tostring(), np.fromstring(b"ab", np.uint8), np.fromstring("1 2", sep=" "), a.ptp())
a.itemset(0, 9)
b = np.zeros((2, 2))
b.itemset((1, 1), 5)
b.itemset(0, 1, 7)
print(a.tolist(), b.tolist(), np.arange(2, dtype="<i2").newbyteorder().tolist())
print(array.array("b", [1, 2]).tostring(), np.float32(1).tostring())
"""


def test_methods_of_built_in_classes(tmp_path) -> None:
    (tmp_path / "program.py").write_text(ARRAY_METHODS)
    command = [sys.executable, "-m", "gpugraph", "run", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "b'\\x00\\x01\\x02\\x03' [97 98] [1. 2.] 3",
        "[9, 1, 2, 3] [[0.0, 7.0], [0.0, 5.0]] [0, 256]",
        "b'\\x01\\x02' b'\\x00\\x00\\x80?'",
    ]
