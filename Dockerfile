# gpugraph in a container: docs/docker.md.
#
#     docker build --target cpu -t gpugraph:cpu .
#     docker build --target gpu -t gpugraph:gpu .                        CUDA 12
#     docker build --target gpu -t gpugraph:gpu --build-arg CUDA=13 .
#
#     python -> tools -> wheel                the package alone, in an environment of its own
#          |       |---> deps-cpu, deps-gpu   what it needs, likewise
#          `-> runtime -> gpu, cpu            the images: deps, then wheel, over the runtime
#                           `-> checks        one of them with the tests: ci/image
#
# BASE is Debian, or what comes of it (python:3.13-slim, ubuntu:24.04), with Python 3.11 or later
# of its own or by apt. No CUDA base is needed: CUDA's libraries are wheels (the extras cuda12 and
# cuda13), and the driver's come from the host.
#
# Steps that reach out read a caller's settings as secrets, all of them optional: pip.conf, apt.conf,
# sources.list, ca.pem. None of them stays in an image.
ARG BASE=debian:trixie-slim
ARG TRIED=cpu

FROM ${BASE} AS python
RUN --mount=type=secret,id=apt.conf --mount=type=secret,id=sources.list \
    command -v python3 >/dev/null || { \
        export APT_CONFIG=/run/secrets/apt.conf \
        && apt-get update \
        && apt-get install -y --no-install-recommends python3 \
        && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin; }

# pip, in an environment of its own: /opt/pip/bin/pip --python ENVIRONMENT.
FROM python AS tools
RUN --mount=type=secret,id=apt.conf --mount=type=secret,id=sources.list \
    python3 -c 'import ensurepip' 2>/dev/null || { \
        export APT_CONFIG=/run/secrets/apt.conf \
        && apt-get update \
        && apt-get install -y --no-install-recommends python3-venv; }
ENV PIP_CONFIG_FILE=/run/secrets/pip.conf \
    PIP_DISABLE_PIP_VERSION_CHECK=1
# pip of its own: Debian's takes its certificates from a package that the images below do not have.
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    --mount=type=cache,target=/root/.cache/pip \
    python3 -m venv /opt/pip \
    && /opt/pip/bin/pip install --upgrade pip \
    && python3 -m venv --without-pip /opt/gpugraph
WORKDIR /src
COPY pyproject.toml ci/requirements.py ./

FROM tools AS wheel
COPY README.md LICENSE ./
COPY kernels kernels
COPY gpugraph gpugraph
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    --mount=type=cache,target=/root/.cache/pip \
    /opt/pip/bin/pip wheel --no-deps --wheel-dir /wheels . \
    && /opt/pip/bin/pip --python /opt/gpugraph install --no-deps --no-index /wheels/*.whl

# The dependencies stay as they are while only the package changes: a layer below its own.
FROM tools AS deps-gpu
ARG CUDA=12
ARG EXTRAS
# Left out: NVRTC once more ("alt", 109 MB, CUDA 12 only) and archives for static linking.
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    --mount=type=cache,target=/root/.cache/pip \
    python3 requirements.py bfloat16 "cuda${CUDA}" ${EXTRAS} >requirements.txt \
    && /opt/pip/bin/pip --python /opt/gpugraph install -r requirements.txt \
    && find /opt/gpugraph/lib -path '*/nvidia/*' '(' -name '*.alt.so*' -o -name '*.a' ')' -delete

FROM tools AS deps-cpu
ARG EXTRAS
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    --mount=type=cache,target=/root/.cache/pip \
    python3 requirements.py bfloat16 ${EXTRAS} >requirements.txt \
    && /opt/pip/bin/pip --python /opt/gpugraph install -r requirements.txt

FROM python AS runtime
# The C compiler makes native code of what runs on the CPU (docs/native.md). gcc with libc's headers
# takes 217 MB; without what a C compiler never reads (link-time optimisation, sanitizers, the
# archive of libc) 106. clang takes 419. tcc takes 25, but has neither stdatomic.h nor the builtins
# that the kernels call, and optimises nothing. WITH_CC=0 leaves it out: NumPy computes then.
ARG WITH_CC=1
RUN --mount=type=secret,id=apt.conf --mount=type=secret,id=sources.list \
    [ "${WITH_CC}" = 0 ] || { \
        printf 'path-exclude=%s\n' \
            '/usr/libexec/gcc/*/lto1' '/usr/lib/gcc/*/lto1' '/usr/bin/*lto-dump*' \
            '/usr/lib/*/lib*san.so*' '/usr/lib/gcc/*/lib*san*.a' '/usr/lib/*/libc.a' \
            >/etc/dpkg/dpkg.cfg.d/c-alone \
        && export APT_CONFIG=/run/secrets/apt.conf \
        && apt-get update \
        && apt-get install -y --no-install-recommends gcc libc6-dev \
        && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin; }
# The user's id may be another's in BASE. Compiled objects are code that will run, so the folder
# they are kept in is the user's alone.
RUN useradd --non-unique --uid 1000 --create-home --shell /bin/bash gpugraph \
    && install -d -o 1000 -g 1000 -m 0700 /cache \
    && install -d -o 1000 -g 1000 /work
ENV HOME=/home/gpugraph \
    PATH=/opt/gpugraph/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/cache \
    CUPY_CACHE_DIR=/cache/cupy \
    CUDA_CACHE_PATH=/cache/cuda
VOLUME /cache
USER 1000:1000
WORKDIR /work
CMD ["gpugraph", "devices"]

FROM runtime AS gpu
# What the NVIDIA Container Toolkit brings in: all GPUs, the driver's libcuda, nvidia-smi.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=deps-gpu /opt/gpugraph /opt/gpugraph
COPY --from=wheel /opt/gpugraph /opt/gpugraph

FROM runtime AS cpu
COPY --from=deps-cpu /opt/gpugraph /opt/gpugraph
COPY --from=wheel /opt/gpugraph /opt/gpugraph

# The tests run against the installed package: the clone's own is replaced by a link to it.
FROM ${TRIED} AS checks
USER root
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    --mount=type=bind,from=tools,source=/opt/pip,target=/opt/pip \
    --mount=type=bind,from=tools,source=/src,target=/src \
    --mount=type=cache,target=/root/.cache/pip \
    cd /src && python3 requirements.py test examples >/tmp/requirements.txt \
    && PIP_CONFIG_FILE=/run/secrets/pip.conf /opt/pip/bin/pip --python /opt/gpugraph \
        install -r /tmp/requirements.txt
COPY --chown=1000:1000 . /checks
RUN rm -r /checks/gpugraph \
    && ln -s "$(cd / && python -c 'import gpugraph; print(*gpugraph.__path__)')" /checks/gpugraph
USER 1000:1000
WORKDIR /checks

# Without --target: the cpu image.
FROM cpu
