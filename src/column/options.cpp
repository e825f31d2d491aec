// Reloptions of gpu_column.
#include "column/column.h"
#include "compat.h"

namespace pg_gpu::column {

struct ColumnOptions {
    storage::StorageOptions storage;
    bool scaled_numerics;
};

static relopt_kind option_kind;

void register_options() {
    option_kind = storage::add_storage_options();
    // Merges, which first tell how many pages they may take, must not see it change.
    add_bool_reloption(option_kind, "scaled_numerics",
                       "Keeps numerics of many values as integers without a dictionary", false,
                       AccessExclusiveLock);
}

bytea *options(Datum options, bool validate) {
    static constexpr relopt_parse_elt elements[] = {
        parsed_option("fanout", RELOPT_TYPE_INT, offsetof(ColumnOptions, storage.fanout)),
        parsed_option("scaled_numerics", RELOPT_TYPE_BOOL, offsetof(ColumnOptions, scaled_numerics))};
    return static_cast<bytea *>(build_reloptions(options, validate, option_kind, sizeof(ColumnOptions),
                                                 elements, lengthof(elements)));
}

bool scales_numerics(Relation index) {
    return index->rd_options != nullptr &&
           reinterpret_cast<ColumnOptions *>(index->rd_options)->scaled_numerics;
}

}  // namespace pg_gpu::column
