// The studies of columns on an engine: what was tried for gpu_column and is measured by benchmarks, and that
// no request of the server uses.
#pragma once

#include <cstring>
#include <memory>

#include "studies/column/dictionary.h"
#include "studies/column/histogram.h"
#include "gpu_engine/engine.h"

namespace gpu_engine {

class ColumnStudies {
  public:
    ColumnStudies() = default;
    ColumnStudies(const ColumnStudies &) = delete;
    ColumnStudies &operator=(const ColumnStudies &) = delete;
    virtual ~ColumnStudies() = default;

    virtual Histograms &histograms() noexcept = 0;
    virtual Dictionaries &dictionaries() noexcept = 0;
};

namespace host {
std::unique_ptr<ColumnStudies> make_column_studies(Engine &engine);
}  // namespace host

// This exists only in builds with PG_GPU_HAVE_CUDA.
namespace device {
std::unique_ptr<ColumnStudies> make_column_studies(Engine &engine);
}  // namespace device

// The studies must not outlive the engine.
inline std::unique_ptr<ColumnStudies> open_column_studies(Engine &engine) {
#ifdef PG_GPU_HAVE_CUDA
    if (std::strcmp(engine.name(), "cuda") == 0) {
        return device::make_column_studies(engine);
    }
#endif
    return host::make_column_studies(engine);
}

}  // namespace gpu_engine
