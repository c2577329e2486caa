# PostgreSQL with gpusort, on the official image of PostgreSQL.
#
#   docker build -t gpusort .
#   docker run --gpus all -e POSTGRES_PASSWORD=... --shm-size 1g -p 127.0.0.1:5432:5432 gpusort
#
# The target "extension" is an image with the extension's files alone, as CloudNativePG mounts them:
#
#   docker build --target extension --build-arg PG_MAJOR=18 -t gpusort-extension:18 .
#
#   --build-arg PG_MAJOR=18          another major version: 15 to 19, as far as there is an image of it
#   --build-arg CUDA_VERSION=12-8    another version of CUDA's toolkit, for older drivers; "no" leaves CUDA out
#   --build-arg CUDA_ARCH="80 90"    for these architectures only, in less time
#
# --gpus needs NVIDIA's driver and container toolkit on the machine: the toolkit puts the driver's library, libcuda,
# into the container.  CUDA's own runtime is linked into gpusort.so, so that nothing of the toolkit that builds it is
# in the image that runs.  Without a GPU the server starts all the same, and sorts with the processors' threads.

ARG PG_MAJOR=17

# ---- build ----------------------------------------------------------------------

FROM postgres:${PG_MAJOR}-bookworm AS build
# A stage inherits no argument from before FROM.
ARG PG_MAJOR
ARG CUDA_VERSION=13-0
ARG CUDA_ARCH=
# Builders of OCI images ignore this, as podman and buildah do by default; hence set -e below.
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]

RUN apt-get update; \
	apt-get install -y --no-install-recommends ca-certificates curl g++ make "postgresql-server-dev-$PG_MAJOR"

# NVIDIA's repository for this release of Debian, of x86-64 only.
RUN set -eu; \
	if [ "$CUDA_VERSION" != no ]; then \
		curl -fsSL -o /tmp/cuda-keyring.deb \
			https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb; \
		dpkg -i /tmp/cuda-keyring.deb; \
		apt-get update; \
		apt-get install -y --no-install-recommends \
			"cuda-nvcc-$CUDA_VERSION" "cuda-cudart-dev-$CUDA_VERSION" "cuda-cccl-$CUDA_VERSION"; \
	fi

WORKDIR /gpusort
COPY Makefile gpusort.control ./
COPY cuda cuda
COPY sql sql
COPY src src
# An argument that was not given is an empty variable, which is not what the Makefile takes for none.
RUN set -eu; \
	[ -n "$CUDA_ARCH" ] || unset CUDA_ARCH; \
	if [ "$CUDA_VERSION" = no ]; then CUDA=no; else CUDA=yes; fi; \
	make -j"$(nproc)" CUDA="$CUDA" with_llvm=no all; \
	make CUDA="$CUDA" with_llvm=no DESTDIR=/installed install

# ---- the extension alone ---------------------------------------------------------

# CloudNativePG adds /share to extension_control_path, which PostgreSQL has from 18 on, and /lib to dynamic_library_path.
FROM scratch AS extension
ARG PG_MAJOR
COPY --from=build /installed/usr/share/postgresql/${PG_MAJOR}/extension/ /share/extension/
COPY --from=build /installed/usr/lib/postgresql/${PG_MAJOR}/lib/ /lib/
COPY LICENSE /licenses/gpusort/

# ---- run ------------------------------------------------------------------------

FROM postgres:${PG_MAJOR}-bookworm
COPY --from=build /installed/ /
COPY LICENSE /usr/share/doc/gpusort/
# initdb copies the sample, so that each new data directory loads the library, whatever arguments the container gets.
RUN set -eu; \
	echo "shared_preload_libraries = 'gpusort'" >>/usr/share/postgresql/postgresql.conf.sample; \
	echo 'CREATE EXTENSION gpusort;' >/docker-entrypoint-initdb.d/10-gpusort.sql

# What the container toolkit lets in where the container is given GPUs.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
