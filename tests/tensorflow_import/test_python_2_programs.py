"""Programs for Python 2, which `gpugraph run --python2` translates."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.compatibility.classic_division import classic_division
from gpugraph.tensorflow_import.python_2_programs import translated

PROGRAM = """\
import tensorflow as tf
from helper import half
print 'halves:', half(7), 7.0 / 2
d = {'a': 1}
for key, value in d.iteritems():
    print key, value
try:
    raise ValueError, 'wrong'
except ValueError, error:
    print error
print tf.Session().run(tf.constant(7) / 2), map(half, xrange(4))
"""
HELPER = "def half(x):\n\tx /= 2\n\treturn x\n"


def test_the_quotient_of_integers_is_an_integer() -> None:
    assert classic_division(7, 2) == 3 and classic_division(-7, 2) == -4
    assert classic_division(7.0, 2) == 3.5
    assert classic_division(np.array([7, 8]), 2).tolist() == [3, 4]
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(classic_division(tf.constant(7), 2)) == 3
        assert session.run(classic_division(tf.constant(7.0), 2)) == 3.5


def test_a_program_and_its_modules_are_translated_without_files(tmp_path) -> None:
    pytest.importorskip("fissix")
    (tmp_path / "old.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    command = [sys.executable, "-m", "gpugraph", "run", "--python2", str(tmp_path / "old.py")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout == "halves: 3 3.5\na 1\nwrong\n3 [0, 0, 1, 1]\n", result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["helper.py", "old.py"]


FUTURE = """\
from __future__ import division, print_function
import sys

def order(x, y):
    return cmp(x, y)

print(1 / 4, sorted([3, 1, 2], cmp=order), reduce(lambda x, y: x + y, [1, 2]))
print(sys._getframe().f_lineno)
class Meta(object):
    __metaclass__ = type
    line = sys._getframe().f_lineno
print(Meta.line, reload(sys) is sys, sys.setdefaultencoding("utf-8"))
"""


@pytest.mark.parametrize("command", ["run", "memory"])
def test_true_division_and_lines_are_kept(command: str, tmp_path, capsys) -> None:
    """The translation inserts an import and removes a line."""
    pytest.importorskip("fissix")
    (tmp_path / "future.py").write_text(FUTURE)
    run = [sys.executable, "-m", "gpugraph", command, "--python2", str(tmp_path / "future.py")]
    result = subprocess.run(run, capture_output=True, text=True)
    lines = result.stdout.splitlines()
    assert lines[:3] == ["0.25 [1, 2, 3] 3", "8", "11 True None"], result.stderr


def test_without_fissix_the_extra_is_named() -> None:
    try:
        import fissix  # noqa: F401, PLC0415
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install 'gpugraph\[python2\]'"):
            translated(b"print 1", "old.py")
    else:
        with pytest.raises(SyntaxError, match=r"old.py is no program of Python 2 or 3"):
            translated(b"print 1 +", "old.py")
