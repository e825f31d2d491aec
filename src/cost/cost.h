// Inside the client: what requests are expected to take. Each kind's functions stand beside its requests.
#pragma once

#include "rpc/client.h"
#include "gpu_engine/protocol.h"

namespace pg_gpu::client {

inline constexpr double kMebibyte = 1048576.0;

struct RequestCost {
    // Does the server answer it from runs' mirrors?
    bool uses_mirrors;
    // Bytes through the transfer buffer.
    double (*bytes_moved)(const Request &request);
    // Microseconds of the path's work, queues and the way there apart.
    double (*work)(const Request &request, Path path);
};

// kary.cpp and kary_arrays.cpp
extern const RequestCost lookup_cost;
extern const RequestCost range_cost;
extern const RequestCost count_cost;
extern const RequestCost sort_cost;
extern const RequestCost merge_cost;
// grid.cpp
extern const RequestCost count_boxes_cost;
extern const RequestCost search_boxes_cost;
extern const RequestCost match_cost;
// column.cpp
extern const RequestCost count_rows_cost;
extern const RequestCost match_rows_cost;
extern const RequestCost merge_dictionaries_cost;
// Reading the codes of columns of all entries, and handling the results.
double row_microseconds(const Request &request, Path path);
// aggregate.cpp
extern const RequestCost aggregate_cost;
// text.cpp
extern const RequestCost search_text_cost;
extern const RequestCost text_lists_cost;

const RequestCost &cost_of(RequestKind kind);

inline double entry_bytes(const Request &request) {
    return request.key_bits / 8.0 + sizeof(ItemPointerData);
}

}  // namespace pg_gpu::client
