// Reloptions of gpu_grid.
#include "compat.h"
#include "grid/grid.h"

namespace pg_gpu::grid {

struct GridOptions {
    storage::StorageOptions storage;
    int bucket;
    SplitRule splits;
};

static constexpr int kDefaultBucket = 8;
static relopt_kind option_kind;

void register_options() {
    static relopt_enum_elt_def rules[] = {{"equal", static_cast<int>(SplitRule::Equal)},
                                          {"distinct", static_cast<int>(SplitRule::Distinct)},
                                          {nullptr, 0}};
    option_kind = storage::add_storage_options();
    add_int_reloption(option_kind, "bucket", "Average number of points in a cell of the server's grid",
                      kDefaultBucket, 1, 1024, AccessExclusiveLock);
    add_enum_reloption(option_kind, "splits",
                       "How cells are shared out among dimensions: equally, or by their distinct values",
                       rules, static_cast<int>(SplitRule::Distinct),
                       "Valid values are \"equal\" and \"distinct\".", ShareUpdateExclusiveLock);
}

bytea *options(Datum options, bool validate) {
    static constexpr relopt_parse_elt elements[] = {
        parsed_option("fanout", RELOPT_TYPE_INT, offsetof(GridOptions, storage.fanout)),
        parsed_option("bucket", RELOPT_TYPE_INT, offsetof(GridOptions, bucket)),
        parsed_option("splits", RELOPT_TYPE_ENUM, offsetof(GridOptions, splits))};
    return static_cast<bytea *>(
        build_reloptions(options, validate, option_kind, sizeof(GridOptions), elements, lengthof(elements)));
}

SplitRule split_rule_of(Relation index) {
    return index->rd_options != nullptr ? reinterpret_cast<GridOptions *>(index->rd_options)->splits
                                        : SplitRule::Distinct;
}

uint32 bucket_of(Relation index) {
    return static_cast<uint32>(index->rd_options != nullptr
                                   ? reinterpret_cast<GridOptions *>(index->rd_options)->bucket
                                   : kDefaultBucket);
}

}  // namespace pg_gpu::grid
