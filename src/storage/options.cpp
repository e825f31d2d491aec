// Reloptions that every access method shares.
#include "compat.h"
#include "storage/runs.h"

namespace pg_gpu::storage {

static constexpr int kDefaultFanout = 8;
static relopt_kind option_kind;

relopt_kind add_storage_options() {
    const relopt_kind kind = add_reloption_kind();
    add_int_reloption(kind, "fanout", "Number of runs of one size that are merged into a larger one",
                      kDefaultFanout, 2, 64, ShareUpdateExclusiveLock);
    return kind;
}

void register_storage_options() {
    option_kind = add_storage_options();
}

bytea *storage_options(Datum options, bool validate) {
    static constexpr relopt_parse_elt elements[] = {
        parsed_option("fanout", RELOPT_TYPE_INT, offsetof(StorageOptions, fanout))};
    return static_cast<bytea *>(build_reloptions(options, validate, option_kind, sizeof(StorageOptions),
                                                 elements, lengthof(elements)));
}

int fanout_of(Relation index) {
    return index->rd_options != nullptr ? reinterpret_cast<StorageOptions *>(index->rd_options)->fanout
                                        : kDefaultFanout;
}

}  // namespace pg_gpu::storage
