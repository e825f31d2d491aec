// Reloptions of gpu_column.
#include "column/column.h"
#include "compat.h"

namespace pg_gpu::column {

struct ColumnOptions {
    storage::StorageOptions storage;
    int scaled_numerics;  // a ScaledNumerics
    int made_by;          // a Maker
};

namespace {

enum ScaledNumerics { ScaledOff, ScaledOn, ScaledAuto };

}  // namespace

static relopt_kind option_kind;

// Truth values are accepted, too, as PostgreSQL writes them, since the option was one once.
static relopt_enum_elt_def kScaledNumerics[] = {
    {"auto", ScaledAuto}, {"on", ScaledOn},  {"off", ScaledOff}, {"true", ScaledOn}, {"false", ScaledOff},
    {"yes", ScaledOn},    {"no", ScaledOff}, {"1", ScaledOn},    {"0", ScaledOff},   {nullptr, 0}};

static relopt_enum_elt_def kMakers[] = {{"user", static_cast<int>(Maker::User)},
                                        {"accelerate", static_cast<int>(Maker::Accelerate)},
                                        {"worker", static_cast<int>(Maker::Worker)},
                                        {nullptr, 0}};

void register_options() {
    option_kind = storage::add_storage_options();
    // Merges, which first tell how many pages they may take, must not see it change.
    add_enum_reloption(option_kind, "scaled_numerics",
                       "Keeps numerics of many values as integers without a dictionary", kScaledNumerics,
                       ScaledAuto, "Valid values are \"on\", \"off\" and \"auto\".", AccessExclusiveLock);
    add_enum_reloption(option_kind, "made_by", "Who chose the index's columns, and may drop it", kMakers,
                       static_cast<int>(Maker::User),
                       "Valid values are \"user\", \"accelerate\" and \"worker\".", ShareUpdateExclusiveLock);
}

bytea *options(Datum options, bool validate) {
    static constexpr relopt_parse_elt elements[] = {
        parsed_option("fanout", RELOPT_TYPE_INT, offsetof(ColumnOptions, storage.fanout)),
        parsed_option("scaled_numerics", RELOPT_TYPE_ENUM, offsetof(ColumnOptions, scaled_numerics)),
        parsed_option("made_by", RELOPT_TYPE_ENUM, offsetof(ColumnOptions, made_by))};
    return static_cast<bytea *>(build_reloptions(options, validate, option_kind, sizeof(ColumnOptions),
                                                 elements, lengthof(elements)));
}

Maker maker_of(Relation index) {
    return index->rd_options == nullptr
               ? Maker::User
               : static_cast<Maker>(reinterpret_cast<ColumnOptions *>(index->rd_options)->made_by);
}

static int scaled_numerics_of(Relation index) {
    return index == nullptr || index->rd_options == nullptr
               ? ScaledAuto
               : reinterpret_cast<ColumnOptions *>(index->rd_options)->scaled_numerics;
}

bool scales_numerics(Relation index) {
    return scaled_numerics_of(index) != ScaledOff;
}

uint64 max_listed_numerics(Relation index, uint64 rows, uint64 few) {
    constexpr uint64 rows_per_value = 4;
    return scaled_numerics_of(index) == ScaledAuto ? Max(few, rows / rows_per_value) : few;
}

}  // namespace pg_gpu::column
