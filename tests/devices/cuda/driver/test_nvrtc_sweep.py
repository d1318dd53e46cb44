"""The sweep over CUDA texts: the variants, ptxas's report, the failures."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from gpugraph.devices.cuda.driver.nvrtc import Nvrtc, find_nvrtc

ROOT = Path(__file__).resolve().parents[4]
needs_nvrtc = pytest.mark.skipif(find_nvrtc().nvrtc is None, reason=find_nvrtc().reason)


@pytest.fixture(scope="module")
def sweep() -> Any:
    sys.path.insert(0, str(ROOT / "ci"))
    return importlib.import_module("nvrtc_sweep")


@pytest.fixture
def nvrtc(tmp_path: Path) -> Nvrtc:
    result = find_nvrtc().nvrtc
    assert result is not None
    return result.with_cache(tmp_path)


LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
ptxas         .     16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compiling entry function 'two' for 'sm_90'
ptxas info    : Function properties for two
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 368 bytes cmem[0]
"""


def test_variants_are_all_combinations_of_each_line(sweep: Any) -> None:
    assert sweep.variants("/* no word */") == [{}]
    text = "/* Does it.\n\n   variants: T=float,half N=1,4 */\n// variants: T=int64 N=2\n"
    assert sweep.variants(text) == [
        {"T": "float", "N": "1"},
        {"T": "float", "N": "4"},
        {"T": "half", "N": "1"},
        {"T": "half", "N": "4"},
        {"T": "int64", "N": "2"},
    ]


def test_dtypes_give_their_macros_and_all_else_is_plain(sweep: Any) -> None:
    text = sweep.definitions({"T": "half", "ITEM": "uint4", "N": "8"})
    lines = [line for line in text.splitlines() if line.startswith("#define")]
    names = [line.split()[1].partition("(")[0] for line in lines]
    assert names == ["T", "T_VALUE", "T_LOAD", "T_STORE", "ITEM", "N"]
    assert lines[4:] == ["#define ITEM uint4", "#define N 8"]


def test_every_file_of_kernels_is_in_the_sweep(sweep: Any) -> None:
    names = {text.name.split()[0] for text in sweep.kernel_texts()}
    assert names == {path.name for path in (ROOT / "kernels").rglob("*.cu")}


def test_generated_texts_are_those_of_ops_on_a_gpu(sweep: Any) -> None:
    texts = dict(sweep.sample_texts(["Exp", "Sum"]))
    assert all("#include" in text for text in texts.values())
    assert any(name.startswith("Exp") and "exp" in text for name, text in texts.items())
    assert any(name.startswith("Sum") for name in texts)


def test_a_part_of_the_samples_is_of_many_ops(sweep: Any) -> None:
    names = [text.name.partition(" sample")[0] for text in sweep.texts_of("samples", "", 12)]
    assert len(names) == 12 and len(set(names)) >= 10


def test_launches_that_are_joined_are_in_the_sweep(sweep: Any) -> None:
    result = list(sweep.CORPORA["joined"](0))
    assert {name.split()[1] for name, _ in result} >= {"adam", "momentum", "rmsprop", "ftrl"}
    assert all("__grid_constant__" in text for _, text in result)


def test_of_many_texts_some_are_picked_evenly(sweep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [(f"text {index}", "") for index in range(10)]
    monkeypatch.setattr(sweep, "CORPORA", {"one": lambda _: many, "two": lambda _: many[:2]})
    found = {one: [text.name for text in sweep.texts_of(one, "text", 4)] for one in ("one", "two")}
    assert found == {"one": ["text 0", "text 2", "text 5", "text 7"], "two": ["text 0", "text 1"]}


def test_what_ptxas_says_is_read(sweep: Any) -> None:
    one, two = sweep.resources("text", "sm_90", LOG)
    assert one == ("text", "one", "sm_90", 255, 32, 16, 4096)
    assert two == ("text", "two", "sm_90", 10, 0, 0, 0)


def test_spills_and_errors_are_faults(sweep: Any, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [
        sweep.Outcome(sweep.resources("text", "sm_90", LOG), ""),
        sweep.Outcome((), "other for sm_90: it does not compile"),
    ]
    faults = sweep.report(outcomes, 0)
    assert faults == [
        "other for sm_90: it does not compile",
        "one of text for sm_90 spills 32 bytes, more than 0",
    ]
    assert sweep.report(outcomes[:1], 32) == []
    assert "one (text) sm_90" in capsys.readouterr().out


@needs_nvrtc
def test_texts_are_compiled_for_every_gpu_or_in_turn(sweep: Any, nvrtc: Nvrtc) -> None:
    text = 'extern "C" __global__ void %s(float *x) { x[0] = 1; }'
    texts = [sweep.Text(name, text % name) for name in ("one", "two", "three")]
    archs = ["sm_80", "sm_90"]

    def met(rotate: int) -> list[tuple[str, str]]:
        outcomes = sweep.sweep(nvrtc, texts, archs, rotate)
        return [(kernel.kernel, kernel.arch) for outcome in outcomes for kernel in outcome.kernels]

    assert met(0) == [(text.name, arch) for text in texts for arch in archs]
    assert met(1) == [("one", "sm_80"), ("two", "sm_90"), ("three", "sm_80")]


@needs_nvrtc
def test_merged_texts_have_the_kernels_of_each_text(sweep: Any, nvrtc: Nvrtc) -> None:
    names = ("gather.cu", "radix_sort.cu")
    texts = [text for text in sweep.kernel_texts() if text.name.split()[0] in names][::4]
    assert {text.name.split()[0] for text in texts} == {*names}
    one_by_one = [sweep.compile_text(nvrtc, text, "sm_90") for text in texts]
    merged = sweep.compile_batch(nvrtc, texts, "sm_90")
    assert [sorted(it.kernels) for it in merged] == [sorted(it.kernels) for it in one_by_one]
    assert len(list(nvrtc.cache.folder.iterdir())) == len(texts) + 1  # no text was repeated


@needs_nvrtc
def test_texts_for_newer_gpus_are_compiled_for_these(sweep: Any, nvrtc: Nvrtc) -> None:
    body = 'extern "C" __global__ void f(float *x) { gg_wait_for_copies(); }'
    text = f'#include "tensor_core_mma.cuh"\n{body}'
    assert (sweep.needed(text), sweep.needed("/* none */")) == (80, 0)
    texts = [sweep.Text("f", text)]
    for rotate, archs in ((0, ["sm_80", "sm_90"]), (1, ["sm_80"])):
        outcomes = sweep.sweep(nvrtc, texts, ["sm_70", "sm_75", "sm_80", "sm_90"], rotate)
        assert [kernel.arch for outcome in outcomes for kernel in outcome.kernels] == archs


@needs_nvrtc
def test_a_kernel_that_keeps_too_much_spills(sweep: Any, nvrtc: Nvrtc) -> None:
    text = """
    extern "C" __global__ void __launch_bounds__(1024, 2) full(float *x) {
      float held[64];
      #pragma unroll
      for (int i = 0; i < 64; i++) held[i] = x[i * 1024 + threadIdx.x];
      __syncthreads();
      #pragma unroll
      for (int i = 0; i < 64; i++) x[i * 1024 + threadIdx.x] = held[i] * held[(i * 7 + 3) % 64];
    }"""
    (outcome,) = sweep.sweep(nvrtc, [sweep.Text("full", text)], ["sm_80"])
    assert outcome.kernels[0].spills > 0
    assert outcome.kernels[0].registers <= 32


@needs_nvrtc
def test_the_program_fails_where_a_text_does(
    sweep: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = 'extern "C" __global__ void good(float *x) { x[0] = 1; }'
    texts = [("good", good), ("bad", good.replace("1", "missing")), ("empty", "__device__ int x;")]
    monkeypatch.setattr(sweep, "CORPORA", {"own": lambda _: texts})
    assert sweep.main(["--arch", "sm_90"]) == 1
    output = capsys.readouterr()
    assert "3 sources for sm_90" in output.out and "2 faults" in output.out
    assert "FAILED: bad for sm_90: bad does not compile" in output.err
    assert "FAILED: empty for sm_90: it has no kernel" in output.err
    assert sweep.main(["--arch", "sm_90", "--only", "good"]) == 0
