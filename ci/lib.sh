#!/usr/bin/env bash
# Shared by the scripts of ci/, which source it: `setup EXTRA...` leaves in $VENV a virtual
# environment with gpugraph (editable) and these extras, and the shell in the repository's root.
#
# The environment is reused while its stamp fits: pyproject.toml, this folder and the Python are
# the same, and the extras are in. Otherwise it is made anew, or the missing extras are added.
set -euo pipefail

ROOT="$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="${GPUGRAPH_VENV:-$ROOT/.venv}"
case "$VENV" in /*) ;; *) VENV="$PWD/$VENV" ;; esac
PLAIN_VENV="$VENV-plain"
STAMP="$VENV/gpugraph-stamp" # first line: the key; second: the extras

# What computes by native code where GPUGRAPH_NATIVE lets it; all tests run without it too. (What is
# compiled for emulated GPUs is not switched by that.)
NATIVE=(
    --ignore=tests/devices/cuda tests/devices tests/kernels/test_host_math.py
    tests/kernels/test_host_random.py tests/ops/test_native.py tests/ops/nn/windows/test_native_windows.py
    tests/ops/test_native_rows.py tests/ops/strings/test_native_hashes.py
    tests/ops/strings/test_native_regex.py
    tests/ops/parsing/test_native_examples.py tests/ops/image/files/test_native_jpeg.py
    tests/session/test_function_pieces.py
    tests/compile/steps/test_run_time_native.py
    tests/compile/steps/test_source_layouts.py
    tests/ops/test_every_native_op.py tests/ops/test_native_forms_of_sizes.py
    tests/compile/fusion/test_native_fusion.py
    tests/compile/fusion/test_native_epilogues.py tests/compile/fusion/test_native_attention.py
    tests/compile/control_flow/test_native_while_loops.py
    tests/compile/fusion/test_matmul_epilogues.py::test_other_additions_stay
    tests/compile/fusion/test_convolution_remapper.py tests/compile/steps/test_native_stretches.py
    tests/compile/steps/test_broken_compilers.py tests/compile/steps/test_own_kernels.py
    tests/building/control_flow/test_values.py tests/building/gradients/test_backpropagation.py
    tests/library/train tests/library/rnn/test_dynamic_rnn.py tests/test_random_native.py
    tests/test_random_graphs.py tests/test_random_control_flow.py tests/test_program_page.py
)
# Tests that need no extra: ci/test runs them in a plain install, an environment of NumPy, protobuf
# and pytest, and `ci/test --all` in the other one as well.
PLAIN_ALONE=(
    tests/building/control_flow tests/building/gradients tests/building/graph_files
    tests/building/variable_scope tests/building/variables tests/cli tests/config tests/graph
    tests/inspection tests/library/contrib/layers tests/library/datasets tests/library/layers
    tests/library/losses tests/library/metrics tests/library/rnn tests/library/saved_models
    tests/library/summary tests/library/train tests/memory tests/ops/parsing tests/ops/random
    tests/ops/state tests/session tests/test_page_programs.py tests/test_readme.py
    tests/tensorflow_import/test_module_table.py tests/tensorflow_import/test_without_extras.py
)
# All that runs in a plain install: those, and tests that differ by what is installed.
PLAIN=(
    tests/base tests/cluster/test_cluster_spec.py tests/formats tests/tensorflow_import
    "${PLAIN_ALONE[@]}"
)
SPREAD=(-n auto --dist worksteal) # over the processors, by pytest-xdist

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Sets PYTHON to a Python of 3.10 or later that can make virtual environments.
find_python() {
    local name path version found="" without_venv=""
    for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        # Inside an active environment: the Python that it was made from, for that environment
        # may be the one that is about to be replaced. A name may also be there and not run.
        path="$("$name" -c 'import os, sys
base = getattr(sys, "_base_executable", None)
print(base if base and os.access(base, os.X_OK) else sys.executable)' 2>/dev/null)" || continue
        version="$("$path" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')" || continue
        found+="${found:+, }$name is $version"
        "$path" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || continue
        if "$path" -c 'import ensurepip, venv' 2>/dev/null; then
            PYTHON="$path"
            return
        fi
        without_venv="${without_venv:-$version}"
    done
    if [ -n "$without_venv" ]; then
        die "Python $without_venv is here without its venv and ensurepip modules; install them" \
            "(on Debian and Ubuntu: apt install python3-venv, or python${without_venv%.*}-venv)"
    fi
    die "Python 3.10 or later is needed; found: ${found:-no python3 at all}"
}

# What the environment depends on, as one word.
venv_key() {
    { cat "$ROOT/pyproject.toml" && printf '%s\n' "$ROOT" "$PYTHON" && "$PYTHON" -VV; } |
        "$PYTHON" -c 'import hashlib, sys
print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'
}

# Does all that `setup` does for another environment, beside $VENV: $PLAIN_VENV.
setup_plain() {
    (VENV="$PLAIN_VENV" STAMP="$PLAIN_VENV/gpugraph-stamp" && setup pytest)
}

# Puts the old Keras beside $VENV, whose Python and NumPy they use: keras-VERSION, and `needed`,
# what they import. What can not be had, without a network for example, is left out: its tests say
# so and are skipped. tests/tensorflow_import/old_keras_runs.py looks in the same place.
fetch_old_keras() {
    local folder="$VENV-old-keras" version
    for version in 2.1.6 2.2.4 2.3.1; do
        fetch_into "$folder/keras-$version" "keras==$version"
    done
    fetch_into "$folder/needed" keras-applications==1.0.8 keras-preprocessing==1.1.2 \
        "h5py>=3.10" pyyaml six
}

# Installs wheels into a folder of their own, without what they depend on; at once, or not at all.
fetch_into() {
    local folder="$1" new="$1.new.$$"
    shift
    [ ! -d "$folder" ] || return 0
    if pip_install --retries 1 --timeout 20 --no-deps --only-binary :all: --target "$new" "$@"; then
        [ -d "$folder" ] || mv -- "$new" "$folder" # another ci/test may have been faster
    else
        echo "could not fetch $*: tests that need it are skipped"
    fi
    rm -rf -- "$new"
}

# Makes an empty environment; what is in its place goes, if it was made here.
make_venv() {
    if [ -e "$VENV" ] && [ ! -f "$STAMP" ] && [ -n "$(ls -A "$VENV")" ]; then
        die "$VENV was not made by ci/; move it away, or name another place in GPUGRAPH_VENV"
    fi
    echo "setting up $VENV with $("$PYTHON" -V)"
    rm -rf -- "$VENV" "$VENV-old-keras"
    mkdir -p -- "$VENV"
    echo unfinished >"$STAMP"
    "$PYTHON" -m venv "$VENV"
    pip_install "pip>=21.3" # the first that installs editable from pyproject.toml alone
}

pip_install() {
    # A user's `user = true` would be refused inside an environment.
    PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 "$VENV/bin/python" -m pip install --quiet "$@"
}

setup() {
    local key extra have="" missing=""
    find_python
    key="$(venv_key)"
    mkdir -p -- "$(dirname -- "$VENV")"
    # The lock belongs to the open file, which this shell and its children share: it is freed
    # when the last of them ends, however that happens.
    exec 9>"$VENV.lock"
    "$PYTHON" -c 'import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("waiting for another set-up of", sys.argv[1], file=sys.stderr, flush=True)
    fcntl.flock(9, fcntl.LOCK_EX)' "$VENV"

    if [ -f "$STAMP" ] && [ "$(sed -n 1p "$STAMP")" = "$key" ] && "$VENV/bin/python" -c ''; then
        have="$(sed -n 2p "$STAMP")"
    else
        make_venv
    fi
    for extra in "$@"; do
        case " $have " in *" $extra "*) ;; *) missing+="${missing:+,}$extra" ;; esac
    done
    if [ -n "$missing" ]; then
        echo "installing gpugraph[$missing]"
        pip_install --editable "$ROOT[$missing]"
        printf '%s\n' "$key" "$have ${missing//,/ }" >"$STAMP.new"
        mv -f -- "$STAMP.new" "$STAMP"
    fi
    exec 9>&-
    cd -- "$ROOT"
    # Tests start many processes: what one of them compiles to bytecode, the others read, even where
    # the caller's environment says that none is written. The source tree stays clean.
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX="$VENV/pycache"
}
