// Requests about runs of columns of which several engines have parts: what the parts answer for a run is put
// together.
#pragma once

#include <vector>

#include "server/requests/spread.h"

namespace gpu_engine::server {

// Says whether one of the request's runs is in parts.
bool has_split_runs(const Spread &spread);

// The engines' replies, and where their results lie.
template <typename Reply>
struct PartResults {
    const std::vector<PartPlace> &places;
    const std::vector<Reply> &replies;
};

// Counts of a run's parts are added up, and rows follow each other.
void put_together(Spread &spread, const protocol::QueryColumn &request,
                  const PartResults<protocol::ColumnReply> &part_results, protocol::ColumnReply *reply);

}  // namespace gpu_engine::server
