"""ci/sass.py: the loops that it finds in listings, and the bounds that it holds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def sass() -> Any:
    spec = importlib.util.spec_from_file_location("sass", ROOT / "ci" / "sass.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sass"] = module
    spec.loader.exec_module(module)
    return module


LISTING = """
.text.one:
        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
.L_x_0:
        /*0010*/                   MOV R1, RZ ;
.L_x_1:
        /*0020*/                   HMMA.16816.F32 R8, R12, R14, R8 ;
        /*0030*/                   HMMA.16816.F32 R8, R12, R14, R8 ;
        /*0040*/              @!P0 BRA `(.L_x_2) ;
        /*0050*/                   LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;
.L_x_2:
        /*0060*/               @P1 BRA `(.L_x_1) ;
        /*0070*/                   HMMA.16816.F32 R8, R12, R14, R8 ;
        /*0080*/               @P2 BRA `(.L_x_0) ;
        /*0090*/                   EXIT ;
.text.two:
        /*0000*/                   LDG.E.64 R4, desc[UR4][R2.64] ;
"""


def test_the_innermost_loop_with_half_of_the_products_counts(sass: Any) -> None:
    (_, code, labels), (name, *_) = sass.functions(LISTING)
    assert name == "two" and len(code) == 10
    assert sass.hot_loop(code, labels) == (2, 5)
    assert sum(bool(sass._WIDE.search(text)) for text in code) == 2
    assert sass.hot_loop(code[:4], labels) == (0, 0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, ""),
        ({"loop": 305}, ""),  # each compiler schedules otherwise
        ({"loop": 340}, "340 instructions for 32 HMMA, not 301"),
        ({"hmma": 64, "loop": 600}, ""),  # unrolled twice
        ({"hmma": 16, "loop": 150}, "16 HMMA in its loop instead of 32"),
        ({"wide": 11}, "11 loads of 128 bits instead of 12"),
        ({"registers": 176}, "176 registers, more than 159"),
        ({"spills": 8}, "spills 8 bytes"),
    ],
)
def test_counts_that_get_worse_are_faults(sass: Any, change: Any, text: str) -> None:
    bound = sass.Row("a kernel", "sm_90", 32, 301, 12, 159, 0)
    found = sass.faults(bound._replace(**change), bound)
    assert (text in found[0] and len(found) == 1) if text else found == []


def test_each_kernel_has_a_row_for_each_gpu(sass: Any) -> None:
    rows = sass.read_bounds(sass.BOUNDS.read_text("utf-8"))
    assert set(rows) == {(kernel.name, arch) for kernel in sass.KERNELS for arch in sass.ARCHS}
    assert all(row.spills == 0 for row in rows.values())
    products = [row for row in rows.values() if row.kernel.startswith("convolution 16")]
    assert all(row.loop <= 310 for row in products if row.arch == "sm_90")
    assert "no row" in sass.faults(sass.Row("new", "sm_90", 0, 0, 0, 0, 0), None)[0]
