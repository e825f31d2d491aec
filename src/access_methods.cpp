#include "access_methods.h"

#include "column/column.h"
#include "column/mirror.h"
#include "grid/grid.h"
#include "grid/mirror.h"
#include "kary/kary.h"
#include "kary/lookup.h"
#include "kary/mirror.h"
#include "kary/verify.h"
#include "text/mirror.h"
#include "text/text.h"

namespace pg_gpu {

const AccessMethod gpu_kary = {"gpu_kary",           kary::build,       kary::run_kind,
                               kary::count_matching, kary::count_batch, kary::look_up,
                               kary::verify_keys,    kary::scan_usage,  kary::mirror_format};
const AccessMethod gpu_grid = {"gpu_grid",           grid::build,       grid::run_kind,
                               grid::count_matching, grid::count_batch, grid::look_up,
                               grid::verify_cells,   grid::scan_usage,  grid::mirror_format};
const AccessMethod gpu_text = {"gpu_text",
                               text::build,
                               [](Relation) { return text::run_kind(); },
                               nullptr,
                               nullptr,
                               nullptr,
                               text::verify_documents,
                               text::scan_usage,
                               text::mirror_format};
const AccessMethod gpu_column = {
    "gpu_column",           column::build,       [](Relation) { return column::run_kind(); },
    column::count_matching, column::count_batch, nullptr,
    column::verify_columns, column::scan_usage,  column::mirror_format};

const AccessMethod *find_access_method(Relation index) {
    for (const AccessMethod *method : {&gpu_kary, &gpu_grid, &gpu_text, &gpu_column})
        if (index->rd_indam->ambuild == method->build)
            return method;
    return nullptr;
}

}  // namespace pg_gpu
