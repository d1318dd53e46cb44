"""Checks of the images without building them; ci/image builds and tries them."""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from gpugraph.devices.codegen.object_cache import cache_folder

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")

ROOT = Path(__file__).resolve().parents[1]


class Stage(NamedTuple):
    """name, the stage or image it starts from, and its instructions as (word, text)."""

    name: str
    base: str
    steps: list[tuple[str, str]]

    def texts(self, word: str) -> list[str]:
        return [text for found, text in self.steps if found == word]


def instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (word, rest)
        for word, _, rest in (line.partition(" ") for line in joined.split("\n"))
        if word
    ]


def parse(text: str) -> tuple[dict[str, str], list[Stage]]:
    """Return the arguments before the first stage with their defaults, and the stages."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for word, rest in instructions(text):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            for argument, default in arguments.items():
                base = base.replace(f"${{{argument}}}", default)
            stages.append(Stage(name, base, []))
        elif stages:
            stages[-1].steps.append((word, rest))
        else:
            assert word == "ARG", word
            name, _, default = rest.partition("=")
            arguments[name] = default
    return arguments, stages


ARGUMENTS, STAGES = parse((ROOT / "Dockerfile").read_text("utf-8"))
BY_NAME = {stage.name: stage for stage in STAGES}


def lineage(name: str) -> list[Stage]:
    """Return the stage and those below it, the lowest first."""
    stage = BY_NAME.get(name)
    return [] if stage is None else [*lineage(stage.base), stage]


def environment(name: str) -> dict[str, str]:
    texts = [text for stage in lineage(name) for text in stage.texts("ENV")]
    return dict(pair.split("=", 1) for text in texts for pair in text.split())


def last(name: str, word: str) -> str:
    return [text for stage in lineage(name) for text in stage.texts(word)][-1]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "ci" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ignored(path: str) -> bool:
    rules = [
        line
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return any(fnmatch.fnmatch(path, rule.removeprefix("**/")) for rule in rules)


def test_the_targets_are_there_and_the_base_may_be_chosen() -> None:
    assert {"cpu", "gpu", "checks"} <= set(BY_NAME)
    assert ARGUMENTS["BASE"] and BY_NAME["python"].base == ARGUMENTS["BASE"]
    assert BY_NAME["cpu"].base == BY_NAME["gpu"].base == "runtime"


def test_without_a_target_it_is_the_cpu_image() -> None:
    assert STAGES[-1] == Stage("", "cpu", [])


def test_stages_come_after_those_that_they_use() -> None:
    known = {ARGUMENTS["BASE"]}
    for stage in STAGES:
        uses = {stage.base}
        for word, text in stage.steps:
            if word in ("COPY", "RUN"):
                uses.update(re.findall(r"\bfrom=([\w-]+)", text))
        assert uses <= known, f"{stage.name} uses {uses - known}"
        known.add(stage.name)


def test_what_is_copied_from_the_clone_exists_and_is_not_ignored() -> None:
    sources = [
        source
        for stage in STAGES
        for text in stage.texts("COPY")
        if "--from=" not in text
        for source in text.split()[:-1]
        if not source.startswith("--")
    ]
    assert {"gpugraph", "kernels", "pyproject.toml"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not ignored(source), source


def test_the_wheel_has_all_that_pyproject_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    copied = {
        word
        for text in [*BY_NAME["tools"].texts("COPY"), *BY_NAME["wheel"].texts("COPY")]
        for word in text.split()
    }
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {project["project"]["readme"], *project["project"]["license-files"]}
    assert needed | {*wheel["packages"], *wheel["force-include"]} <= copied


@pytest.mark.parametrize("folder", [".git", ".venv", ".hypothesis", "__pycache__", "a.pyc"])
def test_what_no_image_needs_is_ignored(folder: str) -> None:
    assert ignored(folder)


@pytest.mark.parametrize("target", ["cpu", "gpu", "checks"])
def test_the_user_is_not_root_and_is_a_number(target: str) -> None:
    user, _, group = last(target, "USER").partition(":")
    assert int(user) > 0 and int(group) > 0
    assert any(f"--uid {user} " in text for text in BY_NAME["runtime"].texts("RUN"))


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_kernels_are_kept_in_the_volume(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = environment(target)
    volume = Path(last(target, "VOLUME"))
    monkeypatch.setenv("XDG_CACHE_HOME", found["XDG_CACHE_HOME"])
    for folder in (cache_folder(), Path(found["CUPY_CACHE_DIR"]), Path(found["CUDA_CACHE_PATH"])):
        assert folder.is_relative_to(volume) and folder != volume
    assert f"-m 0700 {volume}" in " ".join(BY_NAME["runtime"].texts("RUN"))


def test_gpus_are_asked_for_by_the_gpu_image_alone() -> None:
    assert environment("gpu")["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert environment("gpu")["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert not [name for name in environment("cpu") if name.startswith("NVIDIA")]


def test_what_reaches_out_reads_the_callers_settings() -> None:
    reaching = 0
    for stage in STAGES:
        for text in stage.texts("RUN"):
            if re.search(r"pip (wheel|install)|pip --python \S+ +install", text):
                reaching += 1
                assert "id=pip.conf" in text and "id=ca.pem" in text, text
                if stage.name == "checks":
                    assert "PIP_CONFIG_FILE=/run/secrets/pip.conf" in text
            if "apt-get" in text:
                reaching += 1
                assert "id=apt.conf" in text and "APT_CONFIG=/run/secrets/apt.conf" in text, text
                assert "rm -rf /var/lib/apt/lists" in text or stage.name == "tools", text
    assert reaching == 8
    assert environment("tools")["PIP_CONFIG_FILE"] == "/run/secrets/pip.conf"
    assert not [name for name in environment("gpu") if name.startswith(("PIP", "APT"))]


@pytest.mark.parametrize("major", ["12", "13"])
def test_the_extras_for_cuda_are_of_one_release(
    major: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert load("requirements").main([f"cuda{major}"]) == 0
    *always, cupy, toolkit = capsys.readouterr().out.splitlines()
    assert [name.partition(">")[0] for name in always] == ["numpy", "protobuf"]
    assert cupy.startswith(f"cupy-cuda{major}x")
    found = re.fullmatch(r"cuda-toolkit\[([\w,]+)\]==(\d+)(?:\.\d+)?\.\*.*", toolkit)
    assert found is not None
    parts, release = found.groups()
    assert set(parts.split(",")) == {"cublas", "cudart", "nvrtc"} and release == major


def test_an_extra_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert load("requirements").main(["cuda11"]) == 2
    assert "no extra cuda11; there are" in capsys.readouterr().err


def test_the_image_has_an_extra_for_the_cuda_it_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (default,) = [text for text in BY_NAME["deps-gpu"].texts("ARG") if text.startswith("CUDA=")]
    assert f"cuda{default.removeprefix('CUDA=')}" in project["optional-dependencies"]


# -- ci/image


def test_settings_of_pip_go_along_but_for_folders_of_this_machine() -> None:
    settings = load("image_settings")
    found = settings.pip_settings(
        "global.extra-index-url='https://a.example/simple file:///mirror'\n"
        "global.find-links='/wheels'\n"
        "global.index-url='https://old.example'\n"
        ":env:.index-url='https://b.example'\n"
        ":env:.default-timeout='9'\n"
        ":env:.cert='/no/such/file'\n"
    )
    assert settings.pip_conf(found, certificates=True) == (
        "[global]\n"
        "index-url = https://b.example\n"
        "extra-index-url = https://a.example/simple\n"
        "timeout = 9\n"
        "cert = /run/secrets/ca.pem\n"
    )
    assert settings.pip_conf({}, certificates=False) == ""


def test_certificates_are_those_that_pip_is_told_of_first(tmp_path: Path) -> None:
    settings = load("image_settings")
    (tmp_path / "pip.pem").write_bytes(b"pip's")
    (tmp_path / "all.pem").write_bytes(b"everybody's")
    everybody = {"SSL_CERT_FILE": str(tmp_path / "all.pem")}
    assert settings.certificates({}, everybody) == b"everybody's"
    assert settings.certificates({"cert": str(tmp_path / "pip.pem")}, everybody) == b"pip's"
    assert settings.certificates({"cert": str(tmp_path / "gone.pem")}, {}) == b""


def test_settings_of_apt_are_how_to_fetch_and_nothing_else() -> None:
    settings = load("image_settings")
    dumped = (
        'APT::Install-Recommends "1";\n'
        'Acquire::cdrom::mount "/media/cdrom/";\n'
        'Acquire::http::Proxy "http://proxy.example:3128";\n'
        'Acquire::Check-Valid-Until "false";\n'
    )
    kept = (
        'Acquire::http::Proxy "http://proxy.example:3128";\nAcquire::Check-Valid-Until "false";\n'
    )
    assert settings.apt_conf(dumped, sources=False) == kept
    assert settings.apt_conf(dumped, sources=True).startswith(
        kept + 'Dir::Etc::sourcelist "/run/secrets/sources.list";\n'
    )


def test_packages_come_from_where_this_machine_gets_them_in_the_bases_release() -> None:
    sources = load("image_settings").apt_sources(
        ["http://d.example/debian/ old", "http://d.example/debian/ old-updates", "cdrom:x old"],
        "new",
    )
    assert sources == (
        "deb http://d.example/debian/ new main\ndeb http://d.example/debian/ new-updates main\n"
    )


@pytest.mark.parametrize("arguments", [["--cuda", "11"], ["tpu"], ["--cuda"]])
def test_arguments_that_are_none_are_answered_with_the_usage(arguments: list[str]) -> None:
    done = subprocess.run(
        ["bash", str(ROOT / "ci" / "image"), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "ci/image [--all] [--cuda 12|13] [cpu] [gpu]" in done.stderr


def test_what_builds_without_an_engine_is_named_where_it_is_missing(tmp_path: Path) -> None:
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")  # and neither docker, podman nor buildah
    done = subprocess.run(
        ["/bin/bash", str(ROOT / "ci" / "image")],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "apt install buildah debootstrap" in done.stderr


def test_the_tests_that_the_image_runs_exist() -> None:
    script = (ROOT / "ci" / "image").read_text("utf-8")
    named = set(re.findall(r"\btests(?:/\w+)*(?:\.py)?\b", script))
    assert len(named) > 10
    for name in named:
        assert (ROOT / name).exists(), name
    assert os.access(ROOT / "ci" / "image", os.X_OK)
