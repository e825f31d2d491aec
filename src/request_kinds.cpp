#include "request_kinds.h"

#include "column/gpu_column.h"
#include "grid/gpu_grid.h"
#include "kary/gpu_kary.h"
#include "text/gpu_text.h"

namespace pg_gpu::client {

namespace {

struct Row {
    const char *name;
    const RequestCost *cost;
};

}  // namespace

static const Row &row_of(RequestKind kind) {
    static const Row rows[] = {
        {"lookup", &kary::lookup_cost},
        {"range", &kary::range_cost},
        {"count", &kary::count_cost},
        {"count boxes", &grid::count_boxes_cost},
        {"search boxes", &grid::search_boxes_cost},
        {"match", &grid::match_cost},
        {"count rows", &column::count_rows_cost},
        {"count values", &column::count_rows_cost},
        {"match rows", &column::match_rows_cost},
        {"search", &text::search_text_cost},
        {"count documents", &text::text_lists_cost},
        {"intersect", &text::text_lists_cost},
        {"merge dictionaries", &column::merge_dictionaries_cost},
        {"query", &column::query_cost},
    };
    static_assert(lengthof(rows) == kRequestKinds);
    return rows[static_cast<int>(kind)];
}

const char *request_name(RequestKind kind) {
    return row_of(kind).name;
}

const RequestCost &cost_of(RequestKind kind) {
    return *row_of(kind).cost;
}

}  // namespace pg_gpu::client
