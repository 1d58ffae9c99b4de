# Noisegate. Three stages: the locked wheels, checked against their hashes; an environment made of them; and what runs.
# Images have exact tags and no digests: a digest is worth what the registry that it was read from is worth to you, so
# read it from yours (docker buildx imagetools inspect IMAGE) and append it as @sha256:... where you need that.

FROM python:3.11.15-slim-trixie AS wheels
WORKDIR /wheels
COPY requirements.lock ./
# The whole lock: pip checks hashes of all or none. The image gets what the proxy needs of it.
RUN pip download --no-cache-dir --no-deps --only-binary :all: --require-hashes --dest /wheels --requirement requirements.lock

FROM python:3.11.15-slim-trixie AS environment
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /usr/src/noisegate
COPY pyproject.toml MANIFEST.in README.md CHANGELOG.md LICENSE NOTICE ./
COPY privacy privacy
COPY planner planner
COPY server server
RUN python -m venv /opt/noisegate
# `embedded` is the catalog that psql and BI tools are shown. Symbols are of no use to what runs (docs/operating.md).
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /opt/noisegate/bin/pip install --no-cache-dir --no-index --find-links /wheels '.[embedded]' \
    && /opt/noisegate/bin/pip uninstall --yes pip \
    && find /opt/noisegate -name '*.so*' -type f -not -path '*.libs/*' -not -path '*/numba/*' -exec strip --strip-unneeded {} +

FROM python:3.11.15-slim-trixie
RUN useradd --system --uid 10001 --no-create-home noisegate \
    && install -d -o noisegate -m 0700 /var/lib/noisegate
COPY --from=environment /opt/noisegate /opt/noisegate
# The root file system may be read-only: machine code that numba keeps goes to the one folder that is written.
# With the C library's allocator, memory returns after a storm of questions.
ENV PATH=/opt/noisegate/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONMALLOC=malloc \
    NUMBA_CACHE_DIR=/var/lib/noisegate/.cache/numba \
    NOISEGATE_HEALTH_URL=http://127.0.0.1:8432/health
USER 10001
WORKDIR /var/lib/noisegate
VOLUME /var/lib/noisegate
EXPOSE 8432 6432
# With TLS set NOISEGATE_HEALTH_URL to https://...: a process that asks itself need not verify the certificate.
HEALTHCHECK --interval=5s --timeout=4s --start-period=120s --retries=6 CMD ["python", "-c", "import os, ssl, urllib.request; urllib.request.urlopen(os.environ['NOISEGATE_HEALTH_URL'], timeout=3, context=ssl._create_unverified_context())"]
ENTRYPOINT ["noisegate"]
CMD ["serve", "policy.toml", "--host", "0.0.0.0"]
