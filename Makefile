# Builds gpusort.so with PostgreSQL's extension build system (PGXS), and
# cuda/libgsort.a, the device code, which is linked into it.
#
#   make [CUDA=yes|no] [CUDA_ARCH=native|90|"80 90"] [with_llvm=no] [PG_CONFIG=...]
#   make install                 what was built, into the folders of the PostgreSQL for which it was built
#   make installcheck            pg_regress against a running server
#   make unit                    test/unit/gsort_test, which needs no PostgreSQL
#   make sort-bench              bench/gsort_bench: sorts of pairs on the GPU, side by side
#   make demo | test | bench     set up all they need, then work in a private cluster
#   make dist [DIST_DIR=.]       gpusort-VERSION.zip of what is committed, for PGXN
#
# CUDA is built when nvcc is found (CUDA_HOME, PATH, /usr/local/cuda*).  Its
# runtime is linked statically: the module loads on a machine with no driver.

EXTENSION = gpusort
MODULE_big = gpusort
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))
# make takes the version from the control file.  debian/changelog and CHANGELOG.md name it too.  The scripts of
# released versions are sources.  The script of this version is made, and so is the one that upgrades to it.
EXTENSION_VERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" gpusort.control)
SCRIPT = sql/gpusort--$(EXTENSION_VERSION).sql
UPGRADE_SCRIPT = sql/gpusort--0.1.0--$(EXTENSION_VERSION).sql
DATA_built = $(SCRIPT) $(UPGRADE_SCRIPT)
DATA = $(filter-out $(DATA_built),$(wildcard sql/gpusort--*.sql))
REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test

PG_CPPFLAGS = -Isrc -Icuda -DGPUSORT_VERSION='"$(EXTENSION_VERSION)"'

# ---- the last build ------------------------------------------------------

# `make install` installs what was built.  It takes that build's settings where none are given, since sudo drops the
# environment.  It refuses other settings, which would build another library.  `make uninstall` builds nothing, so it
# takes only the PostgreSQL from there, and any other that is given.
BUILT = built.mk
ifneq ($(MAKECMDGOALS),)
ifeq ($(filter-out install uninstall,$(MAKECMDGOALS)),)
-include $(BUILT)
endif
endif

ifdef BUILT_FOR
ifeq ($(origin PG_CONFIG),undefined)
PG_CONFIG := $(BUILT_PG_CONFIG)
endif
endif

BUILT_TO_INSTALL := $(if $(filter install,$(MAKECMDGOALS)),$(BUILT_FOR))

ifdef BUILT_TO_INSTALL
ifneq ($(shell $(PG_CONFIG) --version --pkglibdir 2>&1),$(BUILT_FOR))
$(error gpusort: it was built with PG_CONFIG=$(BUILT_PG_CONFIG) for $(BUILT_FOR); run make PG_CONFIG=$(PG_CONFIG) first)
endif
ifeq ($(origin CUDA)$(filter command,$(origin CUDA_HOME)),undefined)
CUDA := $(if $(BUILT_NVCC),yes,no)
NVCC := $(BUILT_NVCC)
endif
CUDA_ARCH ?= $(BUILT_CUDA_ARCH)
COPT ?= $(BUILT_COPT)
GSORT_DEFINES ?= $(BUILT_GSORT_DEFINES)
ifeq ($(origin with_llvm) $(BUILT_with_llvm),undefined no)
override with_llvm = no
endif
endif

# ---- CUDA ----------------------------------------------------------------

ifneq ($(CUDA),no)
NVCC ?= $(firstword $(wildcard $(addsuffix /bin/nvcc,$(CUDA_HOME))) \
	$(shell command -v nvcc 2>/dev/null) \
	$(wildcard /usr/local/cuda/bin/nvcc) \
	$(lastword $(sort $(wildcard /usr/local/cuda-*/bin/nvcc))))
ifeq ($(CUDA)$(NVCC),yes)
$(error gpusort: CUDA=yes, but no nvcc is found; set CUDA_HOME)
endif
endif

ifneq ($(NVCC),)
# nvcc may be a wrapper script, so only its own word tells where its libraries are.
CUDA_TOP := $(shell $(NVCC) --dryrun -x cu /dev/null -o /dev/null 2>&1 | sed -n 's/^\#\$$ TOP=//p')
CUDA_LIBDIRS := $(wildcard $(CUDA_TOP)/lib64 $(CUDA_TOP)/targets/$(shell uname -m)-linux/lib)

# The default list is cut to what this nvcc knows: older ones lack the newest
# GPUs, newer ones drop the oldest.
CUDA_KNOWN_ARCHS := $(subst compute_,,$(shell $(NVCC) --list-gpu-arch))
CUDA_ARCH ?= $(filter $(CUDA_KNOWN_ARCHS),75 80 86 89 90 100 120)
CUDA_ARCH := $(CUDA_ARCH)

# Native code for each architecture; PTX of the oldest, for GPUs not listed.
ifeq ($(CUDA_ARCH),native)
CUDA_CODE = -arch=native
else
CUDA_CODE = $(foreach arch,$(CUDA_ARCH),-gencode arch=compute_$(arch),code=sm_$(arch)) \
	-gencode arch=compute_$(firstword $(CUDA_ARCH)),code=compute_$(firstword $(CUDA_ARCH))
endif
endif

ifdef BUILT_TO_INSTALL
ifneq ($(strip $(NVCC) $(CUDA_ARCH) $(COPT) $(GSORT_DEFINES)),$(strip $(BUILT_NVCC) $(BUILT_CUDA_ARCH) $(BUILT_COPT) $(BUILT_GSORT_DEFINES)))
$(error gpusort: it was built with other settings, which $(BUILT) has; leave them out, or run make with these first)
endif
endif

# ---- the device library -----------------------------------------------------

# GSORT_DEFINES is for builds with extra checks, for example a guard build; COPT, as
# PostgreSQL's own makefiles have it, for flags of the C compiler, for example -Werror or
# -fsanitize=address, also when it links.
GSORT_CPPFLAGS = -Icuda $(if $(NVCC),-DGSORT_WITH_CUDA) $(GSORT_DEFINES)
GSORT_CFLAGS = -std=gnu11 -O3 -g -fPIC -fvisibility=hidden -pthread -Wall -Wextra $(COPT)
NVCC_FLAGS = -O3 -std=c++17 -lineinfo --threads 2 $(CUDA_CODE) \
	-Xcompiler -fPIC,-fvisibility=hidden,-pthread,-Wall

GSORT_SOURCES = $(sort $(wildcard cuda/*/*.c) $(if $(NVCC),$(wildcard cuda/*/*.cu)))
GSORT_OBJS = $(addsuffix .o,$(basename $(GSORT_SOURCES)))
GSORT_HEADERS = $(wildcard cuda/*.h cuda/*/*.h cuda/*/*.cuh)
GSORT_LIBS = -pthread $(if $(NVCC),$(addprefix -L,$(CUDA_LIBDIRS)) -lcudart_static -lstdc++ -ldl -lrt)

# With CUDA, X.cu takes the place of X.c.
UNIT_PROGRAM = test/unit/gsort_test
UNIT_CU = $(if $(NVCC),$(sort $(wildcard test/unit/*.cu)))
UNIT_C = $(filter-out $(UNIT_CU:.cu=.c),$(sort $(wildcard test/unit/*.c)))
UNIT_OBJS = $(UNIT_C:.c=.o) $(UNIT_CU:.cu=.o)
UNIT_CPPFLAGS = $(if $(NVCC),-DGSORT_TEST_WITH_CUDA)

# The symbols of the device code and of CUDA's runtime stay inside the module.
SHLIB_LINK = cuda/libgsort.a $(GSORT_LIBS) -Wl,--exclude-libs,ALL

EXTRA_CLEAN = $(BUILT) cuda/*/*.o cuda/libgsort.a cuda/build.flags src/build.flags bench/*.o bench/peers/*.o bench/gsort_bench bench/gsort_bench_tiny bench/host_pairs \
	test/unit/*.o $(UNIT_PROGRAM) results regression.diffs regression.out

# ---- PGXS ---------------------------------------------------------------------

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

ifneq ($(PGXS),)
# A PostgreSQL built with LLVM asks for bitcode, which needs the clang that it
# was built with; where that is missing, bitcode is left out.
PG_CLANG := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(shell command -v $(firstword $(PG_CLANG) clang) 2>/dev/null),)
override with_llvm = no
endif

include $(PGXS)

all: note-build
$(shlib): cuda/libgsort.a
$(OBJS) $(OBJS:.o=.bc): $(wildcard src/*.h src/*/*.h) $(GSORT_HEADERS) src/build.flags

# Objects built for another PostgreSQL must not be reused.
src/build.flags: FORCE
	@{ $(PG_CONFIG) --version --includedir-server; echo '$(COPT) $(EXTENSION_VERSION)'; } > $@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@

# No rule has $(BUILT) itself as its target: make would run that one where it includes the file.
note-build:
	@printf 'BUILT_%s\n' 'PG_CONFIG = $(shell command -v $(PG_CONFIG))' 'FOR = $(shell $(PG_CONFIG) --version --pkglibdir)' \
		'NVCC = $(NVCC)' 'CUDA_ARCH = $(CUDA_ARCH)' 'COPT = $(COPT)' 'GSORT_DEFINES = $(GSORT_DEFINES)' 'with_llvm = $(with_llvm)' >$(BUILT)
else
CC ?= cc

all install uninstall installcheck:
	@echo 'gpusort: $(PG_CONFIG) or its PGXS is not found: install the package postgresql-server-dev-NN or set PG_CONFIG' >&2; exit 1

clean:
	rm -rf $(OBJS) $(OBJS:.o=.bc) gpusort.so $(DATA_built) $(EXTRA_CLEAN)
endif

# ---- rules of our own -----------------------------------------------------------

# Scripts of extensions cannot include others; the parts are in the order of their use, and both scripts have those
# that begin with gpusort.  No test may have the name of one: pg_regress looks into this sql/ first.
$(SCRIPT): $(addprefix sql/, create.sql gpusort.sql gpusort_calibrate.sql create_privileges.sql gpusort_comments.sql)
$(UPGRADE_SCRIPT): $(addprefix sql/, upgrade_0.1.0.sql gpusort.sql upgrade_0.1.0_end.sql gpusort_calibrate.sql gpusort_comments.sql)
$(DATA_built): gpusort.control
	cat $(filter %.sql,$^) > $@.new
	mv $@.new $@

cuda/libgsort.a: $(GSORT_OBJS)
	@$(if $(NVCC),:,echo 'gpusort: CUDA is left out (no nvcc, or CUDA=no); the host device alone is built')
	rm -f $@
	ar crs $@ $^

# Objects built for other architectures, without CUDA, or with other flags must not be reused.
cuda/build.flags: FORCE
	@echo 'CUDA_ARCH=$(if $(NVCC),$(CUDA_ARCH)) $(GSORT_CPPFLAGS) $(COPT)' | cmp -s - $@ || \
		echo 'CUDA_ARCH=$(if $(NVCC),$(CUDA_ARCH)) $(GSORT_CPPFLAGS) $(COPT)' > $@

$(GSORT_OBJS) $(UNIT_OBJS): $(GSORT_HEADERS) cuda/build.flags
$(UNIT_OBJS): $(wildcard test/unit/*.h test/unit/*.cuh)

$(patsubst %.c,%.o,$(filter %.c,$(GSORT_SOURCES))): %.o: %.c
	$(CC) $(GSORT_CFLAGS) $(GSORT_CPPFLAGS) -c -o $@ $<

$(patsubst %.cu,%.o,$(filter %.cu,$(GSORT_SOURCES))): %.o: %.cu
	$(NVCC) $(NVCC_FLAGS) $(GSORT_CPPFLAGS) -c -o $@ $<

$(UNIT_C:.c=.o): %.o: %.c
	$(CC) $(GSORT_CFLAGS) $(GSORT_CPPFLAGS) $(UNIT_CPPFLAGS) -c -o $@ $<

$(UNIT_CU:.cu=.o): %.o: %.cu
	$(NVCC) $(NVCC_FLAGS) $(GSORT_CPPFLAGS) $(UNIT_CPPFLAGS) -c -o $@ $<

$(UNIT_PROGRAM): $(UNIT_OBJS) cuda/libgsort.a
	$(CC) $(COPT) -o $@ $^ $(GSORT_LIBS) -lm

unit: $(UNIT_PROGRAM)

# bench/host_pairs, which needs neither PostgreSQL nor a GPU; its source tells its arguments.
bench/host_pairs: bench/host_pairs.c test/unit/pairs_on_host.c cuda/libgsort.a
	$(CC) $(GSORT_CFLAGS) $(GSORT_CPPFLAGS) -Itest/unit -o $@ $^ $(GSORT_LIBS) -lm

# bench/gsort_bench, which needs a GPU but no PostgreSQL; its source tells its options.  gsort_bench_tiny has tiles
# so small that few pairs go through every stage: for the sanitizers.  MGPU=DIR adds moderngpu's sort, DIR being
# its source tree.
sort-bench: $(if $(NVCC),bench/gsort_bench bench/gsort_bench_tiny,without-nvcc)

without-nvcc:
	@echo 'gpusort: no nvcc is found (or CUDA=no): set CUDA_HOME' >&2; exit 1

BENCH_SOURCES = bench/gsort_bench.cu $(wildcard bench/peers/*.cu)
BENCH_HEADERS = $(wildcard bench/*.cuh bench/*.h bench/peers/*.cuh bench/peers/*.h) test/emulator/distributions.h
TINY_SOURCES = $(BENCH_SOURCES) $(addprefix cuda/sort/, pairs_partition.cu pairs_radix.cu pairs_engine.cu multiway_merge.cu)
BENCH_NVCC = $(NVCC) $(NVCC_FLAGS) $(GSORT_CPPFLAGS) -Ibench -Itest/emulator $(if $(MGPU),-DWITH_MODERNGPU -I$(MGPU)/src --extended-lambda)

$(BENCH_SOURCES:.cu=.bench.o): %.bench.o: %.cu $(GSORT_HEADERS) $(BENCH_HEADERS) cuda/build.flags
	$(BENCH_NVCC) -c -o $@ $<

$(TINY_SOURCES:.cu=.tiny.o): %.tiny.o: %.cu $(GSORT_HEADERS) $(BENCH_HEADERS) test/emulator/tiny_rows.h cuda/build.flags
	$(BENCH_NVCC) -DGSORT_TUNING_ROWS='"tiny_rows.h"' -c -o $@ $<

# Objects with tiny tiles take the place of the library's.
bench/gsort_bench: $(BENCH_SOURCES:.cu=.bench.o) cuda/libgsort.a
bench/gsort_bench_tiny: $(TINY_SOURCES:.cu=.tiny.o) cuda/libgsort.a
bench/gsort_bench bench/gsort_bench_tiny:
	$(NVCC) $(CUDA_CODE) -o $@ $^ -Xcompiler -pthread -lrt -ldl

# The scripts install what is missing, PGXS included, and then call make again.
demo bench:
	@MAKE='$(MAKE)' PG_CONFIG='$(PG_CONFIG)' bench/$(subst bench,run,$@)

test:
	@MAKE='$(MAKE)' PG_CONFIG='$(PG_CONFIG)' test/run

# The archive is git's; META.json is put in with the version, in place of the one that git has.
DIST_DIR ?= .
DIST = gpusort-$(EXTENSION_VERSION)
DIST_META = $(DIST_DIR)/$(DIST).tmp

dist:
	@git diff --quiet HEAD || echo 'gpusort: what is not committed is left out'
	rm -rf $(DIST_META) $(DIST_DIR)/$(DIST).zip
	mkdir -p $(DIST_META)
	echo 'META.json export-ignore' > $(DIST_META)/attributes
	git show HEAD:META.json | sed 's/__VERSION__/$(EXTENSION_VERSION)/' > $(DIST_META)/META.json
	git -c core.attributesFile=$(abspath $(DIST_META)/attributes) archive --format=zip --prefix=$(DIST)/ \
		--add-file=$(DIST_META)/META.json --output=$(DIST_DIR)/$(DIST).zip HEAD
	rm -rf $(DIST_META)

.PHONY: all note-build install installcheck clean unit sort-bench without-nvcc demo test bench dist FORCE
