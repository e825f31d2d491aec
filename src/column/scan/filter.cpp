// Conditions on columns: a dictionary's entries are looked at once each, codes are compared in bulk.
#include "column/scan/filter.h"

#include "column/scan/cached_matches.h"
#include "column/scan/cached_results.h"
#include "column/format/format.h"

namespace pg_gpu::column {

namespace {

// The codes that match are a range, or are marked in an array.
struct CodeTest {
    bool is_range;
    uint64 low;  // lower end of a range; none match where it is above `high`
    uint64 high;
    uint8 *match;  // by code, else
};

}  // namespace

// Operators may leave memory behind; it is given back after so many values.
static constexpr uint32 kValuesPerReset = 1024;

namespace {

class Evaluation {
  public:
    Evaluation(const ColumnType &type, const ColumnHeader &header)
        : type_(type),
          header_(header),
          scratch_(
              AllocSetContextCreate(CurrentMemoryContext, "gpu_column operator", ALLOCSET_DEFAULT_SIZES)) {}

    bool matches(const Key &key, uint64 code) {
        const CodeRanges *ranges = ranges_in(header_, key);
        if (ranges != nullptr)
            return is_in_ranges(*ranges, code);
        return key.kind != KeyKind::Evaluate ||
               look(key, is_scaled(header_) ? datum_of_scaled(type_, code, header_.scale, &buffer_)
                                            : decode_integer(type_, code));
    }
    bool matches(const Key &key, const Bytes &bytes) {
        return key.patterns != nullptr ? is_like_any(key, bytes)
                                       : look(key, datum_of(type_, bytes, &buffer_));
    }
    void end() { MemoryContextDelete(scratch_); }

  private:
    bool look(const Key &key, Datum value) {
        MemoryContext caller = MemoryContextSwitchTo(scratch_);
        const bool result = evaluate(key, value);
        MemoryContextSwitchTo(caller);
        if (++count_ % kValuesPerReset == 0)
            MemoryContextReset(scratch_);
        return result;
    }

    const ColumnType &type_;
    const ColumnHeader &header_;
    MemoryContext scratch_;
    ValueBuffer buffer_ = {nullptr, 0};
    uint32 count_ = 0;
};

}  // namespace

// ---- bulk -------------------------------------------------------------------------------------------------

template <typename Value>
static inline uint64 compare_group(const Value *values, Value low, Value width) {
    uint8 hits[kGroup];
    for (uint32 i = 0; i < kGroup; i++)
        hits[i] = static_cast<Value>(values[i] - low) <= width ? 1 : 0;
    return pack_bits(hits);
}

static inline uint64 look_group_up(const uint32 *values, const uint8 *match) {
    uint8 hits[kGroup];
    for (uint32 i = 0; i < kGroup; i++)
        hits[i] = match[values[i]];
    return pack_bits(hits);
}

static void clear_all(ColumnView *view, int run) {
    memset(view->selected[run], 0, groups_of(view->runs[run].run.entries) * sizeof(uint64));
}

template <typename Value>
static void apply_range(ColumnView *view, int run, int column, uint64 low, uint64 high) {
    RunReader *reader = &view->runs[run];
    const ColumnHeader &header = reader->header.column[column];
    if (low > high) {
        clear_all(view, run);
        return;
    }
    if (low == 0 && high >= low_bits(header.bits))
        return;
    CodeCursor<Value> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    while (const uint32 groups = next_selected_groups(&cursor, view->selected[run])) {
        uint64 *selected = view->selected[run] + cursor.group - groups;
        for (uint32 i = 0; i < groups; i++)
            selected[i] &= compare_group(cursor.values + i * kGroup, static_cast<Value>(low),
                                         static_cast<Value>(high - low));
    }
    end_codes(&cursor);
}

// Leaves the rows of whose codes look_up(codes of a group) says so.
template <typename LookUp>
static void apply_looked_up(ColumnView *view, int run, int column, LookUp look_up) {
    RunReader *reader = &view->runs[run];
    const ColumnHeader &header = reader->header.column[column];
    CodeCursor<uint32> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    while (const uint32 groups = next_selected_groups(&cursor, view->selected[run])) {
        uint64 *selected = view->selected[run] + cursor.group - groups;
        for (uint32 i = 0; i < groups; i++)
            if (selected[i] != 0)
                selected[i] &= look_up(cursor.values + i * kGroup);
    }
    end_codes(&cursor);
}

static void apply_match(ColumnView *view, int run, int column, const uint8 *match) {
    apply_looked_up(view, run, column, [match](const uint32 *codes) { return look_group_up(codes, match); });
}

static void apply_code_bits(ColumnView *view, int run, int column, const uint64 *match) {
    apply_looked_up(view, run, column, [match](const uint32 *codes) { return bits_of_codes(codes, match); });
}

// ---- dictionaries -----------------------------------------------------------------------------------------

// Codes that selected rows have.
static void mark_selected_codes(ColumnView *view, int run, int column, const uint64 *nulls, uint8 *match) {
    RunReader *reader = &view->runs[run];
    const ColumnHeader &header = reader->header.column[column];
    const uint64 *selected = view->selected[run];
    CodeCursor<uint32> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    while (const uint32 groups = next_selected_groups(&cursor, selected)) {
        uint64 word = cursor.group - groups;
        for (uint32 i = 0; i < groups; i++, word++)
            for (uint64 bits = selected[word] & (nulls == nullptr ? PG_UINT64_MAX : ~nulls[word]); bits != 0;
                 bits &= bits - 1)
                match[cursor.values[i * kGroup + static_cast<uint32>(__builtin_ctzll(bits))]] = 1;
    }
    end_codes(&cursor);
}

static bool needs_evaluation(const ColumnKeys &keys) {
    for (int i = 0; i < keys.count; i++)
        if (keys.keys[i]->kind == KeyKind::Evaluate)
            return true;
    return false;
}

template <typename Value>
static bool entry_matches(const ColumnKeys &keys, Evaluation *evaluation, const Value &value) {
    for (int i = 0; i < keys.count; i++) {
        const Key &key = *keys.keys[i];
        if constexpr (!std::is_same_v<Value, uint64>) {
            if (key.kind == KeyKind::Strings && !is_among_strings(key, value))
                return false;
            if (key.kind != KeyKind::Evaluate)
                continue;
        }
        if (!evaluation->matches(key, value))
            return false;
    }
    return true;
}

// ---- matches that are kept --------------------------------------------------------------------------------

// Takes away the rows that have no bit.
static void apply_rows(ColumnView *view, int run, const uint64 *rows) {
    uint64 *selected = view->selected[run];
    const uint64 words = groups_of(view->runs[run].run.entries);
    for (uint64 word = 0; word < words; word++)
        selected[word] &= rows[word];
}

// The rows of a run whose codes have bits, whether or not anything else selects them.
static uint64 *rows_of_codes(RunReader *reader, int column, const uint64 *codes) {
    const ColumnHeader &header = reader->header.column[column];
    const uint64 words = groups_of(reader->run.entries);
    auto *rows = allocate_zeroed<uint64>(words + 1);
    CodeCursor<uint32> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    while (const uint32 groups = next_groups(&cursor))
        for (uint32 i = 0; i < groups; i++)
            rows[cursor.group - groups + i] = bits_of_codes(cursor.values + i * kGroup, codes);
    end_codes(&cursor);
    return rows;
}

// Applies a cached set of codes, and keeps the rows that it selects where these are soon found again.
static void apply_kept(ColumnView *view, int run, const ColumnKeys &keys, const uint64 *codes,
                       uint64 changes) {
    RunReader *reader = &view->runs[run];
    if (!are_rows_cached(*reader, keys)) {
        apply_code_bits(view, run, keys.column, codes);
        return;
    }
    uint64 *rows = rows_of_codes(reader, keys.column, codes);
    apply_rows(view, run, rows);
    cache_matching_rows(reader, keys, rows, changes);
    pfree(rows);
}

// Clears what doesn't match among the codes that are set. If these are all, matches are kept, and returned.
static const uint64 *match_dictionary(ColumnView *view, int run, const ColumnKeys &keys, uint8 *match) {
    RunReader *reader = &view->runs[run];
    const ColumnHeader &header = reader->header.column[keys.column];
    const ColumnType &type = view->format->types[keys.column];
    const uint64 changes = count_changes();
    if (const uint64 *cached = use_matching_codes(reader, keys)) {
        for (uint64 i = 0; i < header.distinct; i++)
            match[i] &= is_selected(cached, i) ? 1 : 0;
        return cached;
    }
    const bool is_complete = memchr(match, 0, header.distinct) == nullptr;
    Evaluation evaluation(type, header);
    if (type.is_integer) {
        uint64 *entries = read_integer_dictionary(reader, keys.column);
        for (uint64 i = 0; i < header.distinct && !reader->stale; i++) {
            if (i % kBatch == 0)
                CHECK_FOR_INTERRUPTS();
            if (match[i] != 0)
                match[i] = entry_matches(keys, &evaluation, entries[i]) ? 1 : 0;
        }
        pfree(entries);
    } else {
        StringCursor cursor;
        begin_strings(&cursor, reader, keys.column);
        while (next_string(&cursor))
            if (match[cursor.ordinal] != 0)
                match[cursor.ordinal] = entry_matches(keys, &evaluation, cursor.value) ? 1 : 0;
        end_strings(&cursor);
    }
    evaluation.end();
    return is_complete ? cache_matching_codes(reader, keys, match, changes) : nullptr;
}

static CodeTest make_test(uint8 *match, uint64 count) {
    uint64 first = 0;
    while (first < count && match[first] == 0)
        first++;
    uint64 end = first;
    while (end < count && match[end] != 0)
        end++;
    for (uint64 i = end; i < count; i++)
        if (match[i] != 0)
            return {false, 0, 0, match};
    return first == count ? CodeTest{true, 1, 0, nullptr} : CodeTest{true, first, end - 1, nullptr};
}

static void apply_to_dictionary(ColumnView *view, int run, const ColumnKeys &keys, const uint64 *nulls,
                                KeysToApply which) {
    const ColumnHeader &header = view->runs[run].header.column[keys.column];
    const uint64 changes = count_changes();
    if (const uint64 *rows = find_matching_rows(&view->runs[run], keys)) {
        apply_rows(view, run, rows);
        return;
    }
    const uint64 *cached = use_matching_codes(&view->runs[run], keys);
    if (cached != nullptr) {
        apply_kept(view, run, keys, cached, changes);
        return;
    }
    const uint64 codes = UINT64CONST(1) << header.bits;
    auto *match = allocate_zeroed<uint8>(codes);
    if (which == KeysToApply::Unsafe && needs_evaluation(keys))
        mark_selected_codes(view, run, keys.column, nulls, match);
    else
        memset(match, 1, header.distinct);
    cached = match_dictionary(view, run, keys, match);
    if (cached != nullptr && are_rows_cached(view->runs[run], keys)) {
        apply_kept(view, run, keys, cached, changes);
        pfree(match);
        return;
    }
    const CodeTest test = make_test(match, header.distinct);
    if (!test.is_range)
        apply_match(view, run, keys.column, match);
    else if (test.low > test.high || test.low > 0 || test.high + 1 < header.distinct)
        apply_range<uint32>(view, run, keys.column, test.low, test.high);
    pfree(match);
}

// ---- integers without a dictionary ------------------------------------------------------------------------

static void apply_one_by_one(ColumnView *view, int run, const ColumnKeys &keys, const uint64 *nulls) {
    RunReader *reader = &view->runs[run];
    const ColumnHeader &header = reader->header.column[keys.column];
    Evaluation evaluation(view->format->types[keys.column], header);
    uint64 *selected = view->selected[run];
    CodeCursor<uint64> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    while (const uint32 groups = next_selected_groups(&cursor, selected)) {
        uint64 word = cursor.group - groups;
        for (uint32 i = 0; i < groups; i++, word++) {
            const uint64 not_null = nulls == nullptr ? PG_UINT64_MAX : ~nulls[word];
            for (uint64 bits = selected[word] & not_null; bits != 0; bits &= bits - 1) {
                const auto bit = static_cast<uint32>(__builtin_ctzll(bits));
                if (!entry_matches(keys, &evaluation, cursor.values[i * kGroup + bit] + header.base))
                    selected[word] &= ~(UINT64CONST(1) << bit);
            }
        }
    }
    end_codes(&cursor);
    evaluation.end();
}

// Numbers of so few bits are looked at once each, as if a dictionary had all of them.
static void match_few_integers(ColumnView *view, int run, const ColumnKeys &keys, uint8 *match) {
    const ColumnHeader &header = view->runs[run].header.column[keys.column];
    Evaluation evaluation(view->format->types[keys.column], header);
    for (uint64 i = 0; i < UINT64CONST(1) << header.bits && !view->runs[run].stale; i++)
        if (match[i] != 0)
            match[i] = entry_matches(keys, &evaluation, i + header.base) ? 1 : 0;
    evaluation.end();
}

static void apply_to_few_integers(ColumnView *view, int run, const ColumnKeys &keys, const uint64 *nulls) {
    const ColumnHeader &header = view->runs[run].header.column[keys.column];
    const uint64 codes = UINT64CONST(1) << header.bits;
    auto *match = allocate_zeroed<uint8>(codes);
    // Only numbers that are values are passed to an operator: enums' would raise an error for others.
    if (needs_evaluation(keys))
        mark_selected_codes(view, run, keys.column, nulls, match);
    else
        memset(match, 1, codes);
    match_few_integers(view, run, keys, match);
    apply_match(view, run, keys.column, match);
    pfree(match);
}

static void apply_to_integers(ColumnView *view, int run, const ColumnKeys &keys, const uint64 *nulls) {
    const ColumnHeader &header = view->runs[run].header.column[keys.column];
    ColumnKeys others = {keys.column, allocate<const Key *>(keys.count), 0};
    const uint64 most = low_bits(header.bits);
    for (int i = 0; i < keys.count; i++) {
        const Key &key = *keys.keys[i];
        const CodeRanges *ranges = ranges_in(header, key);
        if (ranges == nullptr ? key.kind == KeyKind::Evaluate : ranges->count > 1)
            others.keys[others.count++] = &key;
        if (ranges == nullptr || ranges->count > 1)
            continue;
        if (ranges->count == 0) {
            clear_all(view, run);
            return;
        }
        const CodeRange &range = ranges->item[0];
        if (range.high < header.base || (range.low > header.base && range.low - header.base > most)) {
            clear_all(view, run);
            return;
        }
        const uint64 low = range.low > header.base ? range.low - header.base : 0;
        const uint64 high = Min(range.high - header.base, most);
        if (header.bits <= 32)
            apply_range<uint32>(view, run, keys.column, low, high);
        else
            apply_range<uint64>(view, run, keys.column, low, high);
    }
    if (others.count > 0 && header.bits <= kMaxListedBits)
        apply_to_few_integers(view, run, others, nulls);
    else if (others.count > 0)
        apply_one_by_one(view, run, others, nulls);
}

// ---- views ------------------------------------------------------------------------------------------------

static void apply_to_run(ColumnView *view, int run, const ColumnKeys &keys, KeysToApply which) {
    RunReader *reader = &view->runs[run];
    uint64 *selected = view->selected[run];
    const uint64 words = groups_of(reader->run.entries);
    const uint64 *nulls = read_null_bits(reader, keys.column);
    bool wants_null = false;
    bool wants_value = false;
    bool compares = false;
    for (int i = 0; i < keys.count; i++) {
        wants_null = wants_null || keys.keys[i]->kind == KeyKind::IsNull;
        wants_value = wants_value || keys.keys[i]->kind != KeyKind::IsNull;
        compares =
            compares || (keys.keys[i]->kind != KeyKind::IsNull && keys.keys[i]->kind != KeyKind::IsNotNull);
    }
    if (wants_null && (wants_value || nulls == nullptr)) {
        clear_all(view, run);
        return;
    }
    for (uint64 i = 0; nulls != nullptr && i < words; i++)
        selected[i] &= wants_null ? nulls[i] : ~nulls[i];
    if (!compares)
        return;
    if (is_dictionary(reader->header.column[keys.column]))
        apply_to_dictionary(view, run, keys, nulls, which);
    else
        apply_to_integers(view, run, keys, nulls);
}

static void apply_to_loose_rows(ColumnView *view, const ColumnKeys &keys) {
    const ColumnType &type = view->format->types[keys.column];
    ValueBuffer buffer = {nullptr, 0};
    MemoryContext scratch =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column operator", ALLOCSET_DEFAULT_SIZES);
    buffer.room = storage::kContentBytes + VARHDRSZ;
    buffer.data = allocate<char>(buffer.room);
    MemoryContext caller = MemoryContextSwitchTo(scratch);
    for (uint32 i = 0; i < view->loose_count; i++) {
        LooseRow *row = &view->loose[i];
        for (int j = 0; j < keys.count && row->selected; j++)
            row->selected = item_matches(*keys.keys[j], type, row->values[keys.column], &buffer);
        if (i % kValuesPerReset == 0)
            MemoryContextReset(scratch);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(scratch);
    pfree(buffer.data);
}

static void select_none(ColumnView *view) {
    for (int i = 0; i < view->run_count; i++)
        if (!is_remote(view, i))
            clear_all(view, i);
    for (uint32 i = 0; i < view->loose_count; i++)
        view->loose[i].selected = false;
}

ColumnKeys keys_of_column(const Condition &condition, int column, KeysToApply which) {
    ColumnKeys keys = {column, allocate<const Key *>(condition.count + 1), 0};
    for (int i = 0; i < condition.count; i++) {
        const Key &key = condition.keys[i];
        if (key.column == column && key.is_safe == (which == KeysToApply::Safe))
            keys.keys[keys.count++] = &key;
    }
    return keys;
}

void select_matching(ColumnView *view, const Condition &condition, KeysToApply which) {
    if (condition.matches_nothing) {
        select_none(view);
        return;
    }
    for (int column = 0; column < view->format->columns; column++) {
        const ColumnKeys keys = keys_of_column(condition, column, which);
        if (keys.count == 0)
            continue;
        for (int run = 0; run < view->run_count; run++)
            if (!is_remote(view, run))
                apply_to_run(view, run, keys, which);
        apply_to_loose_rows(view, keys);
    }
}

const uint64 *use_cached_codes(ColumnView *view, int run, int column, const Condition &condition,
                               KeysToApply which) {
    return is_dictionary(view->runs[run].header.column[column])
               ? use_matching_codes(&view->runs[run], keys_of_column(condition, column, which))
               : nullptr;
}

// Keys that no operator is asked about come to little.
bool are_rows_cached(ColumnView *view, const Condition &condition) {
    bool is_any_evaluated = false;
    for (int column = 0; view->run_count > 0 && column < view->format->columns; column++)
        for (const KeysToApply which : {KeysToApply::Safe, KeysToApply::Unsafe}) {
            const ColumnKeys keys = keys_of_column(condition, column, which);
            if (!needs_evaluation(keys))
                continue;
            for (int run = 0; run < view->run_count; run++)
                if (!are_rows_cached(view->runs[run], keys))
                    return false;
            is_any_evaluated = true;
        }
    return is_any_evaluated;
}

void match_codes(ColumnView *view, int run, int column, const Condition &condition, KeysToApply which,
                 uint8 *match) {
    const ColumnKeys keys = keys_of_column(condition, column, which);
    if (is_dictionary(view->runs[run].header.column[column]))
        (void)match_dictionary(view, run, keys, match);
    else
        match_few_integers(view, run, keys, match);
}

}  // namespace pg_gpu::column
