#include "plan/advise/hypothetical.h"

#include "column/gpu_column.h"
#include "compat.h"
#include "memory.h"

namespace pg_gpu::plan {

bool is_proposed(const IndexOptInfo *index) {
    return index->hypothetical && get_rel_relkind(index->indexoid) == RELKIND_RELATION;
}

// ---- the index --------------------------------------------------------------------------------------------

static Expr *make_column(const RelOptInfo *table, Oid oid, AttrNumber column) {
    Oid type;
    int32 modifier;
    Oid collation;
    get_atttypetypmodcoll(oid, column, &type, &modifier, &collation);
    return reinterpret_cast<Expr *>(
        makeVar(static_cast<int>(table->relid), column, type, modifier, collation, 0));
}

static void add_columns(IndexOptInfo *index, const Proposal &proposal) {
    const auto count = static_cast<size_t>(proposal.count);
    index->ncolumns = index->nkeycolumns = proposal.count;
    index->indexkeys = allocate<int>(count);
    index->indexcollations = allocate<Oid>(count);
    index->opfamily = allocate<Oid>(count);
    index->opcintype = allocate<Oid>(count);
    // No column can be returned: what isn't counted or aggregated is read from the table.
    index->canreturn = allocate_zeroed<bool>(count);
    index->opclassoptions = allocate_zeroed<bytea *>(count);
    for (int i = 0; i < proposal.count; i++) {
        Expr *column = make_column(index->rel, proposal.table, proposal.columns[i]);
        index->indexkeys[i] = proposal.columns[i];
        index->indexcollations[i] = exprCollation(reinterpret_cast<Node *>(column));
        index->opfamily[i] = get_opclass_family(proposal.classes[i]);
        index->opcintype[i] = get_opclass_input_type(proposal.classes[i]);
        index->indextlist = lappend(index->indextlist,
                                    makeTargetEntry(column, static_cast<AttrNumber>(i + 1), nullptr, false));
    }
}

// Counts keys or values in their full width, and half of a TID's, which lie packed: no less than what is
// built.
static double expect_pages(const Proposal &proposal, double rows) {
    double bytes = sizeof(ItemPointerData) / 2.0;
    for (int i = 0; i < proposal.count; i++)
        bytes += Max(get_attavgwidth(proposal.table, proposal.columns[i]),
                     Min(get_typlen(get_atttype(proposal.table, proposal.columns[i])), 8));
    return ceil(rows * bytes / static_cast<double>(storage::kContentBytes)) + 1;
}

IndexOptInfo *make_hypothetical(const Proposal &proposal, RelOptInfo *table) {
    const IndexAmRoutine *routine = GetIndexAmRoutineByAmId(proposal.method, false);
    auto *index = makeNode(IndexOptInfo);
    index->indexoid = proposal.table;
    index->rel = table;
    index->relam = proposal.method;
    index->hypothetical = true;
    index->immediate = true;
    index->tuples = table->tuples;
    index->pages = static_cast<BlockNumber>(expect_pages(proposal, table->tuples));
    index->tree_height = -1;
    index->amcanorderbyop = routine->amcanorderbyop;
    index->amoptionalkey = routine->amoptionalkey;
    index->amsearcharray = routine->amsearcharray;
    index->amsearchnulls = routine->amsearchnulls;
    index->amhasgettuple = routine->amgettuple != nullptr;
    index->amhasgetbitmap = routine->amgetbitmap != nullptr;
    index->amcostestimate = reinterpret_cast<decltype(index->amcostestimate)>(
        reinterpret_cast<void (*)()>(routine->amcostestimate));
    add_columns(index, proposal);
    return index;
}

// ---- columns ----------------------------------------------------------------------------------------------

column::Format *make_proposed_format(const IndexOptInfo *index) {
    auto *format = allocate_zeroed<column::Format>(1);
    format->columns = index->nkeycolumns;
    for (int i = 0; i < format->columns; i++)
        format->types[i] =
            column::describe_type(get_atttype(index->indexoid, static_cast<AttrNumber>(index->indexkeys[i])),
                                  index->indexcollations[i]);
    return format;
}

// Returns the number of a column's distinct values by its statistics; without statistics as many as there are
// rows.
static double count_distinct(Oid table, AttrNumber column, double rows) {
    HeapTuple tuple =
        SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table), Int16GetDatum(column), BoolGetDatum(false));
    if (!HeapTupleIsValid(tuple))
        return rows;
    const auto distinct =
        static_cast<double>(reinterpret_cast<Form_pg_statistic>(GETSTRUCT(tuple))->stadistinct);
    ReleaseSysCache(tuple);
    return distinct == 0 ? rows : Max(distinct > 0 ? Min(distinct, rows) : -distinct * rows, 1.0);
}

// Bits of a numeric's codes where an index with default options would keep it as integers, and 0 where it
// would have a dictionary. Numerics of a type without a scale are taken to show different digits.
static uint32 bits_of_scaled(Oid table, AttrNumber column, double distinct, double rows) {
    Oid type;
    int32 modifier;
    Oid collation;
    get_atttypetypmodcoll(table, column, &type, &modifier, &collation);
    if (getBaseTypeAndTypmod(type, &modifier) != NUMERICOID || modifier < 0 ||
        distinct <= static_cast<double>(column::max_listed_numerics(nullptr, static_cast<uint64>(rows),
                                                                    column::kMaxListedNumerics)))
        return 0;
    const auto digits = static_cast<uint32>((modifier - VARHDRSZ) >> 16 & 0xffff);
    constexpr double bits_per_digit = 3.33;
    return digits > column::kMaxScaledDigits ? 0 : static_cast<uint32>(digits * bits_per_digit) + 1;
}

// Describes a column of scaled numerics as one with a list of its values, which gives such a column codes
// where they are needed.
static column::ColumnSummary summarise_scaled(uint32 bits, uint64 rows) {
    column::ColumnSummary summary = {};
    summary.can_be_listed = true;
    summary.unlisted_rows = rows;
    summary.list_bytes = rows * sizeof(uint32);
    summary.words = rows * bits / 64 + 1;
    return summary;
}

static column::ColumnSummary summarise_column(const column::ColumnType &type, double distinct, double rows,
                                              double width) {
    // An integer's range isn't known, so that one without a dictionary is taken to need all of its bits.
    const uint32 full_bits = type.is_integer ? type.width * 8U : 64;
    const uint32 coded_bits = column::bits_for_entries(static_cast<uint64>(distinct));
    const bool has_dictionary =
        !type.is_integer || distinct * full_bits + rows * coded_bits < rows * full_bits;
    const uint32 bits = has_dictionary ? coded_bits : full_bits;
    const double entry_bytes = type.is_integer ? full_bits / 8.0 : width;
    const double bytes = rows * bits / 8.0 + (has_dictionary ? distinct * entry_bytes : 0);
    const bool has_codes = has_dictionary || bits <= column::kMaxCodedBits;
    const bool is_joinable = has_dictionary || bits <= column::kMaxJoinableBits;
    const auto places = static_cast<uint64>(distinct);
    return {has_codes,
            is_joinable,
            has_codes ? places : 0,
            is_joinable ? places : 0,
            static_cast<uint64>(bytes / sizeof(uint64)) + 1,
            false,
            0,
            0};
}

column::IndexSummary summarise_proposed(const IndexOptInfo *index, const column::Format &format) {
    column::IndexSummary summary = {};
    const double rows = Max(index->tuples, 1.0);
    summary.rows = static_cast<uint64>(rows);
    summary.runs = 1;
    for (int i = 0; i < format.columns; i++) {
        const auto column = static_cast<AttrNumber>(index->indexkeys[i]);
        const double distinct = count_distinct(index->indexoid, column, rows);
        const uint32 scaled_bits = bits_of_scaled(index->indexoid, column, distinct, rows);
        summary.column[i] = scaled_bits > 0 ? summarise_scaled(scaled_bits, summary.rows)
                                            : summarise_column(format.types[i], distinct, rows,
                                                               get_attavgwidth(index->indexoid, column));
    }
    return summary;
}

}  // namespace pg_gpu::plan
