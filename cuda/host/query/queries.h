// The host engine's queries.
#pragma once

#include "gpu_engine/query/query.h"

namespace gpu_engine::host {

class HostEngine;

class HostQueries final : public query::Queries {
  public:
    explicit HostQueries(HostEngine &engine) : engine_(engine) {}

    Status keep_map(Stream &stream, const query::MapValues &values,
                    std::shared_ptr<const query::KeptMap> *kept) noexcept override;
    Status run(Stream &stream, const query::Query &query,
               std::unique_ptr<query::QueryResult> *result) noexcept override;

  private:
    HostEngine &engine_;
};

}  // namespace gpu_engine::host
