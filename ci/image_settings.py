"""Writes what an image's build needs of this machine's settings, as the Dockerfile's secrets.

    python ci/image_settings.py FOLDER

    pip.conf      pip's index, proxy and timeouts, from its files and its environment
    ca.pem        the certificates that pip, or else this machine, is told to trust
    apt.conf      apt's settings of how to fetch
    sources.list   where apt gets this Debian's packages, for the release that SUITE names

A file is empty where there is nothing to say: the base's own settings hold then. Folders of this
machine are left out, for a build does not see them.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

CERTIFICATES = "/run/secrets/ca.pem"

KEPT = (
    "index-url", "extra-index-url", "no-index", "find-links", "trusted-host", "proxy",
    "timeout", "default-timeout", "retries",
)  # fmt: skip


def pip_settings(listed: str) -> dict[str, str]:
    """Return the settings that `pip config list` printed, by name.

    Its last lines are the environment's, which win.
    """
    found = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        _, _, key = name.rpartition(".")
        found[key] = str(ast.literal_eval(value))
    return found


def pip_conf(settings: Mapping[str, str], certificates: bool) -> str:
    lines = []
    for key in KEPT:
        values = [value for value in settings.get(key, "").split() if not is_local(value)]
        if values:
            lines.append(f"{key.removeprefix('default-')} = {' '.join(values)}")
    if certificates:
        lines.append(f"cert = {CERTIFICATES}")
    return "\n".join(["[global]", *lines, ""]) if lines else ""


def is_local(value: str) -> bool:
    return value.startswith((".", "/", "~", "file:"))


def certificates(settings: Mapping[str, str], environment: Mapping[str, str]) -> bytes:
    """Return the first bundle that is named, or nothing."""
    named = (settings.get("cert"), environment.get("PIP_CERT"), environment.get("SSL_CERT_FILE"))
    for path in named:
        if path and os.path.isfile(path):
            return Path(path).read_bytes()
    return b""


def apt_conf(dumped: str, sources: bool) -> str:
    """Return the download settings of `apt-config dump`: proxies, retries, checks."""
    wanted = re.compile(
        r'Acquire::(https?::|Retries|Check-)[^"]*"[^"/][^"]*";|Acquire::https?::Proxy'
    )
    kept = [line for line in dumped.splitlines() if wanted.match(line)]
    if sources:
        kept += ['Dir::Etc::sourcelist "/run/secrets/sources.list";', 'Dir::Etc::sourceparts "-";']
    return "".join(f"{line}\n" for line in kept)


def apt_sources(targets: Iterable[str], suite: str) -> str:
    """One line for each place of `apt-get indextargets` ("URI SUITE"), moved to another release."""
    lines = {}
    for target in targets:
        uri, _, release = target.partition(" ")
        _, dash, part = release.partition("-")
        if uri.startswith("http"):
            lines[f"deb {uri} {suite}{dash}{part} main\n"] = None
    return "".join(lines)


def said_by(*command: str) -> str:
    """Return a command's output; nothing where it is absent or fails."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def main(folder: Path, suite: str) -> None:
    settings = pip_settings(said_by(sys.executable, "-m", "pip", "config", "list"))
    bundle = certificates(settings, os.environ)
    sources = ""
    if suite:
        form = ("--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages")
        sources = apt_sources(said_by("apt-get", "indextargets", *form).splitlines(), suite)
    (folder / "ca.pem").write_bytes(bundle)
    (folder / "pip.conf").write_text(pip_conf(settings, bool(bundle)))
    (folder / "sources.list").write_text(sources)
    dumped = said_by("apt-config", "dump") if suite else ""
    (folder / "apt.conf").write_text(apt_conf(dumped, bool(sources)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.environ.get("SUITE", ""))
