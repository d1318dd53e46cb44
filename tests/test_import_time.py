"""`import gpugraph` is quick: it loads NumPy and nothing else of others, and nothing NumPy delays.

Times depend on the machine, so they are printed (`pytest -rP`) and fail nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUNS = 5

PROGRAM = """
import json, sys, time
import numpy
before = set(sys.modules)
start = time.perf_counter(), time.process_time()
import gpugraph
seconds = time.perf_counter() - start[0], time.process_time() - start[1]
print(json.dumps([gpugraph.__file__, sorted(set(sys.modules) - before), *seconds]))
"""


@pytest.fixture(scope="module")
def imports(tmp_path_factory):
    """Return the reports of `RUNS` fresh interpreters, after one that has left the bytecode
    behind.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("bytecode")),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run():
        found = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return json.loads(found.stdout)

    run()
    return [run() for _ in range(RUNS)]


def test_it_is_this_package(imports):
    assert {Path(file) for file, *_ in imports} == {ROOT / "gpugraph" / "__init__.py"}


def test_no_other_package_is_loaded(imports):
    wall, process = (1000 * min(each[at] for each in imports) for at in (2, 3))
    print(
        f"\nimport gpugraph, NumPy being there: {wall:.0f} ms, {process:.0f} ms of process time "
        f"(best of {RUNS}); {len(imports[0][1])} modules"
    )
    loaded = {module.partition(".")[0] for _, modules, *_ in imports for module in modules}
    foreign = loaded - sys.stdlib_module_names - {"gpugraph", "numpy", "ml_dtypes"}
    assert foreign == set()


def test_what_numpy_delays_stays_delayed(imports):
    """numpy.random and numpy.typing alone would double the time."""
    loaded = {module for _, modules, *_ in imports for module in modules}
    assert sorted(module for module in loaded if module.startswith("numpy")) == []
