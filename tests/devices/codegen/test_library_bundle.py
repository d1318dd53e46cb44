"""Libraries as one entry of the cache: found, damaged, of other sources, unfinished."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugraph.devices.codegen.c_compiler import Compiler, compiler
from gpugraph.devices.codegen.compilation import Compilation
from gpugraph.devices.codegen.object_cache import ObjectCache

SOURCES = [f"int number_{index}(void) {{ return {index}; }}\n" for index in (1, 2, 3)]


@pytest.fixture(autouse=True)
def _in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    if compiler().reason:
        pytest.skip(compiler().reason)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def started(folder: Path, sources: list[str] = SOURCES) -> tuple[Compiler, list[Compilation]]:
    """Return a process's compiler, and compilations that it has started together; they are done."""
    cc = Compiler(compiler().command, folder)
    with cc.together():
        compilations = [cc.start(source, "numbers") for source in sources]
    for compilation in compilations:
        compilation.wait()
    return cc, compilations


def right(compilations: list[Compilation]) -> bool:
    """Return whether each library computes the same as its source."""
    libraries = [compilation.library for compilation in compilations]
    return [getattr(lib, f"number_{n}")() for n, lib in enumerate(libraries, 1)] == [1, 2, 3]


def bundle_in(folder: Path) -> Path:
    (path,) = folder.glob("*.bundle")
    return path


def without_single_files(folder: Path) -> None:
    for path in folder.glob("*.so"):
        path.unlink()


def test_what_is_started_together_is_found_as_one_file(folder: Path) -> None:
    cc, compilations = started(folder)
    assert right(compilations) and cc.status().compiled == 3
    without_single_files(folder)
    other, again = started(folder, SOURCES)
    assert right(again)
    assert (other.status().compiled, other.status().loaded) == (0, 3)
    assert list(folder.glob("*.so")) == []


def test_the_order_of_sources_does_not_matter(folder: Path) -> None:
    started(folder)
    without_single_files(folder)
    other, _ = started(folder, SOURCES[::-1])
    assert other.status().compiled == 0


def test_who_waits_finds_it_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    started(folder)
    without_single_files(folder)
    other, again = started(folder)
    assert right(again) and other.status().compiled == 0


@pytest.mark.parametrize("has_single_files", [True, False])
def test_a_damaged_bundle_is_made_again(folder: Path, has_single_files: bool) -> None:
    started(folder)
    path = bundle_in(folder)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    if not has_single_files:
        without_single_files(folder)
    other, again = started(folder)
    assert right(again) and other.status().compiled == (0 if has_single_files else 3)
    without_single_files(folder)
    third, again = started(folder)
    assert right(again) and third.status().compiled == 0


LAYOUTS = {
    "empty": lambda body: b"",
    "no whole count": lambda body: body[:3],
    "a count alone": lambda body: body[:4],
    "no whole key": lambda body: body[:8],
    "count of nothing": lambda body: bytes(4) + body[4:],
    "large count": lambda body: b"\xff\xff\xff\xff" + body[4:],
    "a key that is no text": lambda body: body[:4] + b"\xff" * 40 + body[44:],
    "an end that is gone": lambda body: body[: len(body) * 3 // 4],
    "more than there was": lambda body: body + b"more",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bundle_of_another_layout_is_made_again(folder: Path, layout: str) -> None:
    """Its digest is right all the same. A library without its end would end the process."""
    started(folder)
    cache, path = ObjectCache(folder, ending=".bundle"), bundle_in(folder)
    whole = cache.load(path.stem)
    assert whole is not None and cache.store(path.stem, LAYOUTS[layout](whole))
    other, again = started(folder)
    assert right(again) and other.status().compiled == 0
    without_single_files(folder)
    third, again = started(folder)
    assert right(again) and third.status().compiled == 0


def test_libraries_of_other_sources_are_not_used(folder: Path, tmp_path: Path) -> None:
    """A bundle whose digest is right, but whose libraries are exchanged."""
    cc, _ = started(folder)
    first, second, third = map(cc.key, SOURCES)
    contents = {first: cc.cache.load(second), second: cc.cache.load(first)}
    contents[third] = b"no library"
    head = b"".join(
        key.encode() + len(content or b"").to_bytes(8, "little")
        for key, content in contents.items()
    )
    packed = [(3).to_bytes(4, "little"), head, *(content or b"" for content in contents.values())]
    cache = ObjectCache(folder, ending=".bundle")
    assert cache.store(bundle_in(folder).stem, b"".join(packed))
    without_single_files(folder)
    other, again = started(folder)
    assert right(again) and other.status().compiled == 3


def test_where_one_source_fails_the_others_have_no_bundle(folder: Path) -> None:
    _, compilations = started(folder, [*SOURCES, "int number_4(void) { return unknown; }"])
    assert right(compilations[:3]) and compilations[3].library is None
    assert list(folder.glob("*.bundle")) == []
    assert len(list(folder.glob("*.so"))) == 3


def test_one_source_alone_has_no_bundle(folder: Path) -> None:
    started(folder, SOURCES[:1])
    assert list(folder.glob("*.bundle")) == []


def test_what_is_started_after_an_error_begins_all_the_same(folder: Path) -> None:
    cc = Compiler(compiler().command, folder)
    with pytest.raises(ValueError, match="midway"), cc.together():
        compilation = cc.start(SOURCES[0], "number")
        raise ValueError("midway")
    assert compilation.wait() is not None
    assert cc.start(SOURCES[1], "number").wait() is not None
