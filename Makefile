# pg_gpu: an access method library for PostgreSQL, with an engine of its own.
#
# The PostgreSQL side (src/) is built here by PGXS. The engine (cuda/), the unit tests and the benchmarks
# are built by CMake, which this file calls. `make help` lists the targets.

MODULE_big = pg_gpu
EXTENSION = pg_gpu pg_gpu_postgis
DATA = $(sort $(wildcard pg_gpu--*.sql pg_gpu_postgis--*.sql))

# What CREATE EXTENSION makes, and what the library takes itself for.
EXTVERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" pg_gpu.control)

PG_CONFIG ?= pg_config
CMAKE ?= cmake
CTEST ?= ctest

# Everything made lies under build/, except pg_gpu.so, which PGXS puts beside this file.
MODULE_DIR = build/module
SOURCES := $(sort $(wildcard src/*.cpp src/*/*.cpp src/*/*/*.cpp))
OBJS = $(SOURCES:src/%.cpp=$(MODULE_DIR)/%.o)

# Where the tests' own library isn't installed (test/check installs it), installcheck leaves out the tests that load it.
LOADING = $(basename $(notdir $(shell grep -l "LOAD 'pg_gpu_test'" sql/*.sql test/isolation/specs/*.spec)))
LEFT_OUT = $(if $(wildcard $(pkglibdir)/pg_gpu_test.so),,$(LOADING))
REGRESS = $(filter-out $(LEFT_OUT),$(sort $(patsubst sql/%.sql,%,$(wildcard sql/*.sql))))
REGRESS_OPTS = --inputdir=. --outputdir=build/regress --load-extension=pg_gpu
ISOLATION = $(filter-out $(LEFT_OUT),$(sort $(patsubst test/isolation/specs/%.spec,%,$(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test/isolation --outputdir=build/isolation --load-extension=pg_gpu

EXTRA_CLEAN = $(MODULE_DIR) build/engine build/sanitized-address-undefined build/sanitized-thread build/benchmark build/check \
	build/regress build/isolation build/opponent .gpu

# The server's headers come in as system headers: they aren't ours to keep free of -Wextra's warnings.
PG_CPPFLAGS = -Isrc -Icuda/include -isystem $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)
# Multiplications fused with additions would round scores otherwise than SQL does.
PG_CXXFLAGS = -std=c++20 -O2 -ffp-contract=off -Wall -Wextra -fvisibility=hidden -fvisibility-inlines-hidden
SHLIB_LINK = -lstdc++

# The compilers read -Werror from a file, so that objects compiled with and without it are the same ones.
PG_CXXFLAGS += @$(MODULE_DIR)/werror
ENGINE_WERROR = $(if $(filter 1,$(WERROR)),ON,OFF)

# Device code: FAST, or PLAIN, which is compiled in a quarter of the time. HERE, which make demo and make check build, is PLAIN where no
# device would run it.
DEVICE_CODE ?= FAST
ifeq ($(DEVICE_CODE),HERE)
override DEVICE_CODE := $(if $(wildcard /dev/nvidiactl),FAST,PLAIN)
endif
# What a debugger is told: LINES, which is enough for backtraces and takes a fifth off the compiler's time, or FULL.
DEBUG_INFO ?= LINES
ifeq ($(DEBUG_INFO),LINES)
PG_CXXFLAGS += -g1
endif

# No bitcode: it would need clang, and calls into an access method are not inlined anyway.
override with_llvm := no

# The caller's flags, as dpkg-buildpackage sets them, are for the engine. The module has those PostgreSQL was built with, and
# make would hand these to CMake under the same names.
of_environment = $(if $(filter environment,$(origin $(1))),$($(1)))
ENGINE_CXXFLAGS := $(strip $(call of_environment,CPPFLAGS) $(call of_environment,CXXFLAGS))
ENGINE_LDFLAGS := $(call of_environment,LDFLAGS)

# Targets that work before PostgreSQL is installed.
PLAIN_GOALS = help engine unit format format-check demo check check-long bench gpu-bundle

ifneq ($(filter-out $(PLAIN_GOALS),$(or $(MAKECMDGOALS),all)),)

PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

ifneq ($(PGXS),)

ifneq ($(filter check,$(MAKECMDGOALS)),)
$(error make check builds and installs by itself: name it alone)
endif

all: engine
include $(PGXS)

# A change of flags (another PG_CONFIG, DEBUG_INFO=FULL) makes all objects anew.
COMPILE_MODULE = $(CXX) $(CXXFLAGS) $(CPPFLAGS)
ifeq ($(filter clean distclean maintainer-clean,$(MAKECMDGOALS)),)
$(shell mkdir -p $(MODULE_DIR))
$(file >$(MODULE_DIR)/werror,$(if $(filter 1,$(WERROR)),-Werror))
$(file >$(MODULE_DIR)/flags.new,$(COMPILE_MODULE))
$(shell cmp -s $(MODULE_DIR)/flags.new $(MODULE_DIR)/flags || mv -f $(MODULE_DIR)/flags.new $(MODULE_DIR)/flags)
$(shell rm -f $(MODULE_DIR)/flags.new)
endif

# pg_regress makes its output folder, but not that folder's parent.
installcheck: | build
build:
	mkdir -p $@

# PostgreSQL's headers are half of what a source costs to compile: they are read once. The compiler looks for the .gch beside the
# header, which is therefore copied.
PRECOMPILED = $(MODULE_DIR)/precompiled.h
$(PRECOMPILED).gch: src/precompiled.h $(MODULE_DIR)/flags
	@cp $< $(PRECOMPILED)
	$(COMPILE_MODULE) -MMD -MP -MF $(PRECOMPILED).d -MT $@ -x c++-header -o $@ $(PRECOMPILED)

$(OBJS): $(MODULE_DIR)/%.o: src/%.cpp $(PRECOMPILED).gch $(MODULE_DIR)/flags
	@mkdir -p $(@D)
	$(COMPILE_MODULE) -include $(PRECOMPILED) -MMD -MP -c -o $@ $<

VERSIONED = $(MODULE_DIR)/pg_gpu.o $(MODULE_DIR)/version.o
$(VERSIONED): override CPPFLAGS += -DPG_GPU_VERSION='"$(EXTVERSION)"'
$(VERSIONED): pg_gpu.control

# What tests load beside the module, and nobody else has.
TEST_MODULE = $(MODULE_DIR)/pg_gpu_test.so
.PHONY: test-module install-test-module
test-module: $(TEST_MODULE)

$(TEST_MODULE): test/module/pg_gpu_test.cpp $(PRECOMPILED).gch $(MODULE_DIR)/flags
	$(COMPILE_MODULE) -include $(PRECOMPILED) -MMD -MP -MF $(@:.so=.d) -MT $@ -shared -o $@ $< $(LDFLAGS)

install-test-module: $(TEST_MODULE)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/'

-include $(OBJS:.o=.d) $(TEST_MODULE:.so=.d) $(PRECOMPILED).d

else ifneq ($(filter-out clean distclean,$(MAKECMDGOALS) $(if $(MAKECMDGOALS),,all)),)

define NO_SERVER_HEADERS
pg_gpu needs PostgreSQL's server headers, and "$(PG_CONFIG) --pgxs" names none that are here.
Hint: contrib/scripts/install-dependencies --for build installs what is missing (Debian),
or name another PostgreSQL with make PG_CONFIG=/path/to/pg_config
endef
$(error $(NO_SERVER_HEADERS))

else

clean distclean:
	rm -rf $(MODULE_big).so $(EXTRA_CLEAN)

endif
endif

# ---- The engine, by CMake ----------------------------------------------------------------------------
# Rebuilt only when one of its files changed, so that `sudo make install` after `make` leaves no files of
# root's behind.

# The CUDA engine: AUTO (where nvcc works), ON or OFF.
PG_GPU_CUDA ?= AUTO
# The compute capabilities it is built for, a list with semicolons; those of the devices here when empty, or 9.0 where there is none.
# `packages` are all that pg_gpu is to run on, with code for later ones that the driver compiles.
GPU_ARCHITECTURES ?=
ifeq ($(GPU_ARCHITECTURES),packages)
override GPU_ARCHITECTURES := 75-real;80-real;86-real;89-real;90-real;100-real;120
endif
ARCHITECTURES = $(if $(GPU_ARCHITECTURES),-DCMAKE_CUDA_ARCHITECTURES="$(GPU_ARCHITECTURES)",-UCMAKE_CUDA_ARCHITECTURES)
ENGINE_FILES := CMakeLists.txt $(sort $(shell find cuda -type f))
ENGINE_STAMP = build/engine/built-$(ENGINE_WERROR)-$(DEBUG_INFO)-$(DEVICE_CODE)-$(PG_GPU_CUDA)$(subst ;,-,$(GPU_ARCHITECTURES:%=-%))
CONFIGURE = CXXFLAGS='$(ENGINE_CXXFLAGS)' LDFLAGS='$(ENGINE_LDFLAGS)' \
	$(CMAKE) -G "Unix Makefiles" -S . -DPG_GPU_WERROR=$(ENGINE_WERROR) -DPG_GPU_DEBUG_INFO=$(DEBUG_INFO) \
	-DPG_GPU_DEVICE_CODE=$(DEVICE_CODE) -DPG_GPU_CUDA=$(PG_GPU_CUDA) $(ARCHITECTURES)
# Without MAKEFLAGS, which would hand a CXXFLAGS= meant for the module to CMake's makefiles too.
BUILD = MAKEFLAGS= $(CMAKE) --build

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 1)

.PHONY: engine
engine: $(ENGINE_STAMP)

$(ENGINE_STAMP): $(ENGINE_FILES)
	@command -v $(CMAKE) >/dev/null || { \
		echo "The engine is built by CMake, and $(CMAKE) is not here." \
			"Hint: contrib/scripts/install-dependencies --for build" >&2; exit 1; }
	@$(CONFIGURE) -B build/engine >/dev/null
	@$(BUILD) build/engine --target pg_gpu_server
	@rm -f build/engine/built-*
	@touch $@

# The server process, which the supervisor looks for beside pg_gpu.so.
ifdef PGXS
.PHONY: install-server uninstall-server
install: install-server
install-server: engine installdirs
	$(INSTALL_PROGRAM) build/engine/pg_gpu_server '$(DESTDIR)$(pkglibdir)/pg_gpu_server'

uninstall: uninstall-server
uninstall-server:
	rm -f '$(DESTDIR)$(pkglibdir)/pg_gpu_server'
endif

# ---- Tests, benchmarks, formatting, demo -------------------------------------------------------------

.PHONY: unit format format-check demo check check-long bench gpu-bundle help

# In the engine's folder, so that nothing is compiled twice. Without a device the tests of the CUDA engine would be
# compiled, for minutes, only to skip themselves; `make gpu-bundle` compiles them.
DEVICE_TESTS := $(if $(wildcard /dev/nvidiactl),ON,OFF)
# With the tests of what was studied and no statement uses (studies/): ON or OFF.
PG_GPU_STUDIES ?= OFF

unit:
	@$(CONFIGURE) -B build/engine -DPG_GPU_TESTS=ON -DPG_GPU_DEVICE_TESTS=$(DEVICE_TESTS) \
		-DPG_GPU_STUDIES=$(PG_GPU_STUDIES) -DPG_GPU_BENCHMARKS=OFF >/dev/null
	@$(BUILD) build/engine
	@$(CTEST) --test-dir build/engine --output-on-failure --parallel $(CMAKE_BUILD_PARALLEL_LEVEL)

format:
	@contrib/scripts/format

format-check:
	@contrib/scripts/format --check

demo:
	@contrib/demo/run

# PGXS has a check of its own, which only says that it isn't supported.
ifndef PGXS
check:
	@test/check
endif

check-long:
	@test/check-long

bench:
	@contrib/scripts/build-and-install bench
	@test/bench/run

gpu-bundle:
	@$(CONFIGURE) -B build/engine -DPG_GPU_CUDA=ON -DPG_GPU_TESTS=ON -DPG_GPU_DEVICE_TESTS=ON -DPG_GPU_STUDIES=ON \
		-DPG_GPU_BENCHMARKS=ON -DCMAKE_CUDA_ARCHITECTURES="$(or $(GPU_ARCHITECTURES),90)" >/dev/null
	@touch build/engine/bundle-begun
	@$(BUILD) build/engine
	@contrib/scripts/gpu-bundle build/engine

help:
	@echo 'make                 build the extension and the engine'
	@echo 'make install         install the extension (PG_CONFIG= names the PostgreSQL)'
	@echo 'make installcheck    pg_regress and isolation tests against a running server'
	@echo 'make demo            install, build, load real data, ask it with and without pg_gpu'
	@echo 'make check           install what is needed, build, and run every test suite'
	@echo 'make check-long      the same with many seeds and rounds, sanitizers and stress'
	@echo 'make bench           benchmarks, results under bench/results/'
	@echo 'make gpu-bundle      pack tests and benchmarks for a GPU host into .gpu/ (test/gpu/README.md)'
	@echo 'make unit            the unit tests of the engine and of the parts without PostgreSQL'
	@echo 'make format          lay out the sources with clang-format; format-check only looks'
	@echo 'make clean           remove what was built'
	@echo 'WERROR=1             warnings are errors'
	@echo 'DEBUG_INFO=FULL      all that a debugger wants to know, in place of line numbers for backtraces'
	@echo 'DEVICE_CODE=PLAIN    device code that is compiled sooner and runs slowly'
	@echo 'PG_GPU_CUDA=OFF      build without the CUDA engine (AUTO: where nvcc works; ON)'
	@echo 'PG_GPU_STUDIES=ON    make unit with the tests of what was studied and no statement uses'
	@echo 'GPU_ARCHITECTURES="80;90" build the CUDA engine for these compute capabilities (the devices here, or 9.0; packages: all)'
