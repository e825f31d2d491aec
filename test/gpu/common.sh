# Sourced by the scripts beside it: finds the bundle.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bundle=${PG_GPU_BUNDLE:-$root/.gpu}
# shellcheck source=test/gpu/unpack.sh
. "$root/test/gpu/unpack.sh"
if [ ! -x "$bundle/bin/pg_gpu_unit_tests" ]; then
    echo "There is no bundle in $bundle. Hint: make gpu-bundle, where the CUDA toolkit is" >&2
    exit 1
fi
export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
results=${PG_GPU_RESULTS:-$root/bench/results}

# Tests that need a device skip themselves without one, which here would hide that nothing was tested.
require_device() {
    if ! "$bundle/bin/pg_gpu_unit_tests" --gtest_filter='EngineKary/cuda32.KeepsItsMemoryLimit' |
        grep -q '^\[  PASSED  \] 1 test'; then
        "$bundle/bin/pg_gpu_unit_tests" --gtest_filter='EngineKary/cuda32.KeepsItsMemoryLimit' >&2 || true
        echo "The cuda engine finds no device here, or fails on it." >&2
        exit 1
    fi
}
