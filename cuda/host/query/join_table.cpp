#include "host/query/join_table.h"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>

#include "host/query/group_table.h"

namespace gpu_engine::host {

namespace {

// The build side is divided by its codes, so that each part's places stay in the caches while it is filled.
constexpr std::uint32_t part_bits = 6;
constexpr std::uint32_t parts = 1U << part_bits;
// Rows that are looked at together; a multiple of what lies together in memory.
constexpr std::uint64_t piece_rows = std::uint64_t(1) << (QueryRows::piece_bits + 2);
// A key that is an integer is a place by itself where so many places a row are enough.
constexpr std::uint64_t dense_places_a_row = 2;
constexpr std::uint64_t always_dense_places = 1 << 14;
// And where so many are, a bit for each says first whether any row has the key: far more of these stay in the
// caches than of a hash table's places.
constexpr std::uint64_t listed_places_a_row = 64;
// Rows of a slot that are looked through one after the other.
constexpr std::uint64_t few_rows = 8;
// Rows whose places, and then rows, are fetched before they are looked at.
constexpr std::uint32_t rows_ahead = 128;
constexpr std::uint32_t entries_ahead = 16;
constexpr std::uint32_t tag_bits = 16;

std::uint64_t tag_of(std::uint64_t code) {
    return std::uint64_t(1) << (code % tag_bits);
}
std::uint64_t end_of(std::uint64_t place) {
    return place >> tag_bits;
}

}  // namespace

// What is known of the build side once all of its rows have been looked at.
struct JoinTable::Bounds {
    std::int64_t least = INT64_MAX;  // of a single key of 64 bits
    std::int64_t greatest = INT64_MIN;
    bool has_null_key = false;
    std::vector<std::uint64_t> nulls;  // a bit a column that is NULL in any row

    void add(const Bounds &other) {
        least = std::min(least, other.least);
        greatest = std::max(greatest, other.greatest);
        has_null_key |= other.has_null_key;
        for (std::size_t i = 0; i < nulls.size(); ++i) {
            nulls[i] |= other.nulls[i];
        }
    }
};

JoinTable::JoinTable(MemoryBudget &budget, const Workers &workers, const query::Query &query,
                     const query::Node &join, const RowParts &rows)
    : plan_(query, join), bounds_(plan_), columns_(plan_.build.types.size()) {
    std::vector<Piece> pieces;
    for (const QueryRows &part : rows.parts) {
        for (std::uint64_t first = 0; first < part.count(); first += piece_rows) {
            const std::uint64_t end = std::min(part.count(), first + piece_rows);
            pieces.push_back({&part, first, end, rows_});
            rows_ += end - first;
        }
    }
    has_rows_ = rows_ > 0;
    const Bounds bounds = look_at(workers, pieces);
    has_null_key_ = bounds.has_null_key;
    lay_out(bounds);
    choose_codes(bounds);
    if (is_listed_alone_) {
        list_existing(budget, workers, pieces);
    } else {
        fill(budget, workers, pieces);
    }
}

// ---- the rows ---------------------------------------------------------------------------------------------

bool JoinTable::has_null(const std::uint64_t *from) const {
    return std::any_of(plan_.build_keys.begin(), plan_.build_keys.end(),
                       [from](std::uint16_t column) { return bit_of(from, column); });
}

JoinTable::Bounds JoinTable::look_at(const Workers &workers, const std::vector<Piece> &pieces) const {
    const bool is_word = plan_.key_types.size() == 1 && plan_.key_types[0] == ValueType::int64;
    Bounds none;
    none.nulls.resize(query::null_words(static_cast<std::uint32_t>(plan_.build.types.size())));
    tbb::enumerable_thread_specific<Bounds> bounds(none);
    workers.for_pieces(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
        Bounds &own = bounds.local();
        for (std::uint64_t piece = begin; piece < end; ++piece) {
            pieces[piece].part->for_spans(
                pieces[piece].first, pieces[piece].end, piece_rows,
                [&](const std::uint64_t *from, std::uint64_t count) {
                    for (std::uint64_t i = 0; i < count; ++i, from += plan_.build.record_words) {
                        for (std::size_t word = 0; word < own.nulls.size(); ++word) {
                            own.nulls[word] |= from[word];
                        }
                        if (has_null(from)) {
                            own.has_null_key = true;
                        } else if (is_word) {
                            const auto key =
                                static_cast<std::int64_t>(from[plan_.build.words[plan_.build_keys[0]]]);
                            own.least = std::min(own.least, key);
                            own.greatest = std::max(own.greatest, key);
                        }
                    }
                });
        }
    });
    for (const Bounds &own : bounds) {
        none.add(own);
    }
    return none;
}

// Where the words of the table's rows are. A key that shows what its column does stands for that, too.
void JoinTable::lay_out(const Bounds &bounds) {
    for (std::uint32_t i = 0; i < columns_.size(); ++i) {
        if (plan_.is_taken[plan_.probed_columns() + i]) {
            columns_[i] = {plan_.build.types[i], 0, static_cast<std::uint32_t>(kept_.size())};
            kept_.push_back(i);
            has_nulls_ |= bit_of(bounds.nulls.data(), i);
        }
    }
    record_words_ =
        plan_.key_words + (has_nulls_ ? query::null_words(static_cast<std::uint32_t>(kept_.size())) : 0);
    for (const std::uint32_t column : kept_) {
        std::uint32_t word = 0;
        bool is_key = false;
        for (std::size_t k = 0; k < plan_.build_keys.size() && !is_key; ++k) {
            is_key = plan_.build_keys[k] == column && plan_.key_types[k] != ValueType::float64;
            word += is_key ? 0 : query::words_of(plan_.key_types[k]);
        }
        columns_[column].word = is_key ? word : record_words_;
        record_words_ += is_key ? 0 : query::words_of(columns_[column].type);
    }
}

void JoinTable::write_row(const std::uint64_t *from, std::uint64_t row) {
    std::uint64_t *to = records_.data() + row * record_words_;
    write_keys(from, to);
    bounds_.note(from, row);
    if (has_nulls_) {
        std::uint64_t *nulls = to + plan_.key_words;
        std::fill_n(nulls, query::null_words(static_cast<std::uint32_t>(kept_.size())), 0);
        for (std::uint32_t i = 0; i < kept_.size(); ++i) {
            nulls[i / 64] |= std::uint64_t{bit_of(from, kept_[i])} << (i % 64);
        }
    }
    for (const std::uint32_t column : kept_) {
        if (columns_[column].word >= plan_.key_words) {
            std::copy_n(from + plan_.build.words[column], query::words_of(columns_[column].type),
                        to + columns_[column].word);
        }
    }
}

void JoinTable::write_keys(const std::uint64_t *from, std::uint64_t *keys) const {
    for (std::size_t k = 0; k < plan_.build_keys.size(); ++k) {
        const std::uint64_t *words = from + plan_.build.words[plan_.build_keys[k]];
        with_stored(plan_.key_types[k],
                    [&]<typename Type>(Type) { write_key(query::Words<Type>::read(words), keys); });
        keys += query::words_of(plan_.key_types[k]);
    }
}

// ---- codes ------------------------------------------------------------------------------------------------

void JoinTable::choose_codes(const Bounds &bounds) {
    if (bounds.least <= bounds.greatest) {
        const std::uint64_t last =
            static_cast<std::uint64_t>(bounds.greatest) - static_cast<std::uint64_t>(bounds.least);
        least_ = static_cast<std::uint64_t>(bounds.least);
        is_listed_alone_ =
            plan_.wants_existence() && (last / listed_places_a_row < rows_ || last < always_dense_places);
        if (is_listed_alone_) {
            listed_places_ = last + 1;
            return;
        }
        is_dense_ = last < std::max(rows_ * dense_places_a_row, always_dense_places);
        listed_places_ = !is_dense_ && last / listed_places_a_row < rows_ ? last + 1 : 0;
        if (is_dense_) {
            slots_ = last + 1;
            while (last >> part_shift_ >= parts) {
                ++part_shift_;
            }
            return;
        }
    }
    std::uint32_t bits = part_bits;
    while (std::uint64_t(1) << bits < rows_) {
        ++bits;
    }
    slots_ = std::uint64_t(1) << bits;
    slot_shift_ = 64 - bits;
    part_shift_ = 64 - part_bits;
}

std::uint64_t JoinTable::code_of(const std::uint64_t *keys) const noexcept {
    if (is_dense_) {
        return keys[0] - least_;
    }
    std::uint64_t hash = 0;
    for (std::uint32_t i = 0; i < plan_.key_words; ++i) {
        hash = mix_word(hash, keys[i]);
    }
    return finish_hash(hash);
}

int JoinTable::compare_keys(const std::uint64_t *one, const std::uint64_t *other) const noexcept {
    for (std::uint32_t i = 0; i < plan_.key_words; ++i) {
        if (one[i] != other[i]) {
            return one[i] < other[i] ? -1 : 1;
        }
    }
    return 0;
}

// ---- filling it -------------------------------------------------------------------------------------------

template <typename Visit>
void JoinTable::for_records(const Piece &piece, Visit visit) const {
    const std::uint32_t words = plan_.build.record_words;
    piece.part->for_spans(piece.first, piece.end, piece_rows,
                          [&](const std::uint64_t *from, std::uint64_t count) {
                              for (std::uint64_t i = 0; i < count; ++i, from += words) {
                                  visit(from);
                              }
                          });
}

void JoinTable::fill_without_keys(MemoryBudget &budget, const Workers &workers,
                                  const std::vector<Piece> &pieces) {
    keyed_rows_ = rows_;
    is_unique_ = rows_ <= 1;
    records_ = Buffer<std::uint64_t>(budget, rows_ * record_words_);
    bounds_.begin(budget, rows_);
    Buffer<Entry> entries(budget, bounds_.has_any() ? rows_ : 0);
    workers.for_pieces(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t piece = begin; piece < end; ++piece) {
            std::uint64_t row = pieces[piece].at;
            for_records(pieces[piece], [&](const std::uint64_t *from) {
                if (bounds_.has_any()) {
                    entries[row++] = {0, from};
                } else {
                    write_row(from, row++);
                }
            });
        }
    });
    if (!bounds_.has_any()) {
        return;
    }
    workers.sort(entries.data(), entries.data() + rows_, [this](const Entry &a, const Entry &b) {
        return bounds_.order_of(a.record) < bounds_.order_of(b.record);
    });
    workers.for_pieces(rows_, piece_rows, [&](std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t row = first; row < end; ++row) {
            write_row(entries[row].record, row);
        }
    });
    bounds_.finish(0, rows_);
}

void JoinTable::fill(MemoryBudget &budget, const Workers &workers, const std::vector<Piece> &pieces) {
    if (plan_.build_keys.empty()) {
        fill_without_keys(budget, workers, pieces);
        return;
    }
    // Codes by row, and how many of each piece are of each part; behind these, those without a key.
    constexpr std::uint32_t no_part = parts;
    Buffer<std::uint64_t> codes(budget, rows_);
    std::vector<std::uint64_t> counts(pieces.size() * (parts + 1));
    workers.for_pieces(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
        std::vector<std::uint64_t> keys(plan_.key_words);
        for (std::uint64_t piece = begin; piece < end; ++piece) {
            std::uint64_t *own = counts.data() + piece * (parts + 1);
            std::uint64_t row = pieces[piece].at;
            for_records(pieces[piece], [&](const std::uint64_t *from) {
                if (has_null_key_ && has_null(from)) {
                    ++own[no_part];
                } else {
                    write_keys(from, keys.data());
                    codes[row] = code_of(keys.data());
                    ++own[codes[row] >> part_shift_];
                }
                ++row;
            });
        }
    });
    std::uint64_t part_begin[parts + 2];
    std::uint64_t at = 0;
    for (std::uint32_t part = 0; part <= no_part; ++part) {
        part_begin[part] = at;
        for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
            std::uint64_t &count = counts[piece * (parts + 1) + part];
            at += count;
            count = at - count;
        }
    }
    part_begin[no_part + 1] = at;
    Buffer<Entry> entries(budget, rows_);
    workers.for_pieces(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t piece = begin; piece < end; ++piece) {
            std::uint64_t *next = counts.data() + piece * (parts + 1);
            std::uint64_t row = pieces[piece].at;
            for_records(pieces[piece], [&](const std::uint64_t *from) {
                const bool is_null = has_null_key_ && has_null(from);
                const std::uint64_t code = is_null ? 0 : codes[row];
                entries[next[is_null ? no_part : code >> part_shift_]++] = {code, from};
                ++row;
            });
        }
    });
    codes = Buffer<std::uint64_t>();
    keyed_rows_ = part_begin[no_part];
    rows_ = query::keeps_build(plan_.kind) ? rows_ : keyed_rows_;
    records_ = Buffer<std::uint64_t>(budget, rows_ * record_words_);
    bounds_.begin(budget, rows_);
    directory_ = Buffer<std::uint64_t>(budget, slots_ + 1);
    directory_[0] = 0;
    std::atomic<bool> is_unique{true};
    workers.for_pieces(parts, 1, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t part = begin; part < end; ++part) {
            if (!fill_part(budget, static_cast<std::uint32_t>(part), entries, part_begin[part],
                           part_begin[part + 1])) {
                is_unique = false;
            }
        }
    });
    is_unique_ = is_unique;
    list_keys(budget, workers);
    for (std::uint64_t row = keyed_rows_; row < rows_; ++row) {
        write_row(entries[row].record, row);
    }
}

void JoinTable::list_key(std::uint64_t key) noexcept {
    const std::uint64_t place = key - least_;
    const std::uint64_t bit = std::uint64_t(1) << (place % 64);
    const std::atomic_ref word(listed_[place / 64]);
    // Many rows have the same key.
    if ((word.load(std::memory_order_relaxed) & bit) == 0) {
        word.fetch_or(bit, std::memory_order_relaxed);
    }
}

void JoinTable::list_keys(MemoryBudget &budget, const Workers &workers) {
    if (listed_places_ == 0) {
        return;
    }
    listed_ = Buffer<std::uint64_t>(budget, (listed_places_ + 63) / 64);
    std::fill_n(listed_.data(), listed_.size(), 0);
    workers.for_pieces(keyed_rows_, piece_rows, [&](std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t row = first; row < end; ++row) {
            list_key(record(row)[0]);
        }
    });
}

void JoinTable::list_existing(MemoryBudget &budget, const Workers &workers,
                              const std::vector<Piece> &pieces) {
    const std::uint32_t key_word = plan_.build.words[plan_.build_keys[0]];
    listed_ = Buffer<std::uint64_t>(budget, (listed_places_ + 63) / 64);
    std::fill_n(listed_.data(), listed_.size(), 0);
    workers.for_pieces(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t piece = begin; piece < end; ++piece) {
            for_records(pieces[piece], [&](const std::uint64_t *from) {
                if (!has_null_key_ || !has_null(from)) {
                    list_key(from[key_word]);
                }
            });
        }
    });
    keyed_rows_ = rows_;
}

// Orders a part's entries by slot and key, and writes its rows and places. Returns whether no two keys are
// equal.
bool JoinTable::fill_part(MemoryBudget &budget, std::uint32_t part, const Buffer<Entry> &entries,
                          std::uint64_t first, std::uint64_t end) {
    const std::uint64_t part_codes = std::uint64_t(1) << part_shift_;
    const std::uint64_t first_slot = (part * part_codes) >> slot_shift_;
    const std::uint64_t end_slot = std::min(slots_, first_slot + (part_codes >> slot_shift_));
    if (first_slot >= end_slot) {
        return true;
    }
    std::uint64_t *places = directory_.data() + 1;
    std::fill(places + first_slot, places + end_slot, 0);
    for (std::uint64_t i = first; i < end; ++i) {
        ++places[entries[i].code >> slot_shift_];
    }
    std::uint64_t at = first;
    for (std::uint64_t slot = first_slot; slot < end_slot; ++slot) {
        const std::uint64_t count = places[slot];
        places[slot] = at;
        at += count;
    }
    Buffer<Entry> ordered(budget, end - first);
    for (std::uint64_t i = first; i < end; ++i) {
        ordered[places[entries[i].code >> slot_shift_]++ - first] = entries[i];
    }
    bool is_unique = true;
    std::uint64_t begin = first;
    for (std::uint64_t slot = first_slot; slot < end_slot; ++slot) {
        const std::uint64_t slot_end = places[slot];
        std::uint64_t tags = 0;
        if (slot_end - begin > 1) {
            is_unique &= order_slot(ordered.data() + (begin - first), ordered.data() + (slot_end - first));
            if (bounds_.has_any()) {
                order_by_bounds(ordered.data() + (begin - first), ordered.data() + (slot_end - first));
            }
        }
        for (std::uint64_t row = begin; row < slot_end; ++row) {
            if (row + entries_ahead < end) {
                __builtin_prefetch(ordered[row + entries_ahead - first].record);
            }
            tags |= tag_of(ordered[row - first].code);
            write_row(ordered[row - first].record, row);
        }
        if (bounds_.has_any()) {
            finish_bounds(begin, slot_end);
        }
        places[slot] = slot_end << tag_bits | tags;
        begin = slot_end;
    }
    return is_unique;
}

// By code, then by key; `keys` has room for two keys.
int JoinTable::compare_entries(const Entry &one, const Entry &other, std::uint64_t *keys) const {
    if (one.code != other.code) {
        return one.code < other.code ? -1 : 1;
    }
    write_keys(one.record, keys);
    write_keys(other.record, keys + plan_.key_words);
    return compare_keys(keys, keys + plan_.key_words);
}

// Puts entries with equal keys of a slot together. Returns whether there are none.
bool JoinTable::order_slot(Entry *first, Entry *end) const {
    // Those of a dense table's slot are equal.
    if (is_dense_) {
        return false;
    }
    std::vector<std::uint64_t> keys(2 * plan_.key_words);
    const auto compare = [&](const Entry &a, const Entry &b) { return compare_entries(a, b, keys.data()); };
    if (!std::all_of(first + 1, end, [&](const Entry &entry) { return compare(*first, entry) == 0; })) {
        std::sort(first, end, [&](const Entry &a, const Entry &b) { return compare(a, b) < 0; });
    }
    return std::adjacent_find(first, end,
                              [&](const Entry &a, const Entry &b) { return compare(a, b) == 0; }) == end;
}

// Puts the entries of each key of a slot into the order of the bounds.
void JoinTable::order_by_bounds(Entry *first, Entry *end) const {
    std::vector<std::uint64_t> keys(2 * plan_.key_words);
    while (first < end) {
        Entry *const end_of_key = std::find_if(first + 1, end, [&](const Entry &entry) {
            return compare_entries(*first, entry, keys.data()) != 0;
        });
        std::sort(first, end_of_key, [this](const Entry &a, const Entry &b) {
            return bounds_.order_of(a.record) < bounds_.order_of(b.record);
        });
        first = end_of_key;
    }
}

void JoinTable::finish_bounds(std::uint64_t first, std::uint64_t end) noexcept {
    while (first < end) {
        std::uint64_t end_of_key = first + 1;
        while (end_of_key < end && compare_keys(record(first), record(end_of_key)) == 0) {
            ++end_of_key;
        }
        bounds_.finish(first, end_of_key);
        first = end_of_key;
    }
}

// ---- finding ----------------------------------------------------------------------------------------------

void JoinTable::find(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const {
    if (plan_.build_keys.empty() || keyed_rows_ == 0) {
        std::fill_n(matches, count, JoinMatches{0, keyed_rows_});
    } else if (is_listed_alone_) {
        find_existing(keys, count, matches);
    } else if (is_dense_) {
        find_dense(keys, count, matches);
    } else if (listed_places_ > 0) {
        find_listed(keys, count, matches);
    } else if (plan_.key_words == 1) {
        find_by_hash<1>(keys, count, matches);
    } else {
        find_by_hash<0>(keys, count, matches);
    }
}

void JoinTable::find_dense(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const {
    for (std::uint32_t first = 0; first < count; first += rows_ahead) {
        const std::uint32_t end = std::min(count, first + rows_ahead);
        for (std::uint32_t i = first; i < end; ++i) {
            const std::uint64_t slot = keys[i] - least_;
            __builtin_prefetch(directory_.data() + (slot < slots_ ? slot : 0));
        }
        for (std::uint32_t i = first; i < end; ++i) {
            const std::uint64_t slot = keys[i] - least_;
            const bool is_there = slot < slots_;
            const std::uint64_t *place = directory_.data() + (is_there ? slot : 0);
            matches[i] = {end_of(place[0]), is_there ? end_of(place[1]) : end_of(place[0])};
        }
    }
}

// A key has one match, which is no row, or none.
void JoinTable::find_existing(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const {
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t place = keys[i] - least_;
        const bool is_inside = place < listed_places_;
        const bool is_there = is_inside && bit_of(listed_.data(), place);
        matches[i] = {0, std::uint64_t{is_there}};
    }
}

// Looks only the keys up that some row has.
void JoinTable::find_listed(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const {
    std::uint64_t found_keys[query_tile_rows] = {};
    JoinMatches found[query_tile_rows];
    std::uint16_t positions[query_tile_rows];
    std::uint32_t some = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t place = keys[i] - least_;
        const bool is_inside = place < listed_places_;
        found_keys[some] = keys[i];
        positions[some] = static_cast<std::uint16_t>(i);
        some += static_cast<std::uint32_t>(is_inside) &
                static_cast<std::uint32_t>(bit_of(listed_.data(), is_inside ? place : 0));
        matches[i] = {0, 0};
    }
    find_by_hash<1>(found_keys, some, found);
    for (std::uint32_t i = 0; i < some; ++i) {
        matches[positions[i]] = found[i];
    }
}

template <std::uint32_t key_words>
void JoinTable::find_by_hash(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const {
    const std::uint32_t words = key_words == 0 ? plan_.key_words : key_words;
    const auto is_same = [words](const std::uint64_t *one, const std::uint64_t *other) {
        std::uint64_t differing = 0;
        for (std::uint32_t i = 0; i < words; ++i) {
            differing |= one[i] ^ other[i];
        }
        return differing == 0;
    };
    std::uint64_t codes[rows_ahead];
    std::uint32_t candidates[rows_ahead];
    for (std::uint32_t first = 0; first < count; first += rows_ahead) {
        const std::uint32_t some = std::min(count - first, rows_ahead);
        for (std::uint32_t i = 0; i < some; ++i) {
            const std::uint64_t *key = keys + std::uint64_t{first + i} * words;
            codes[i] = key_words == 1 ? finish_hash(mix_word(0, key[0])) : code_of(key);
            __builtin_prefetch(directory_.data() + (codes[i] >> slot_shift_));
        }
        std::uint32_t candidate_count = 0;
        for (std::uint32_t i = 0; i < some; ++i) {
            const std::uint64_t *place = directory_.data() + (codes[i] >> slot_shift_);
            const JoinMatches slot = {end_of(place[0]), end_of(place[1])};
            const bool may_be_there = (place[1] & tag_of(codes[i])) != 0;
            matches[first + i] = may_be_there ? slot : JoinMatches{0, 0};
            candidates[candidate_count] = i;
            candidate_count += may_be_there ? 1 : 0;
            __builtin_prefetch(records_.data() + (may_be_there ? slot.first * record_words_ : 0));
        }
        for (std::uint32_t k = 0; k < candidate_count; ++k) {
            const std::uint32_t i = candidates[k];
            JoinMatches &own = matches[first + i];
            const std::uint64_t *key = keys + std::uint64_t{first + i} * words;
            if (own.end - own.first > few_rows) {
                own = find_among_many(own.first, own.end, codes[i], key);
                continue;
            }
            while (own.first < own.end && !is_same(record(own.first), key)) {
                ++own.first;
            }
            while (own.first < own.end && !is_same(record(own.end - 1), key)) {
                --own.end;
            }
        }
    }
}

// Finds the rows of a key among many of a slot, which are in the order of codes and keys.
JoinMatches JoinTable::find_among_many(std::uint64_t first, std::uint64_t end, std::uint64_t code,
                                       const std::uint64_t *key) const {
    const auto order_of = [&](std::uint64_t row) {
        const std::uint64_t *own = record(row);
        const std::uint64_t own_code = code_of(own);
        return own_code != code ? (own_code < code ? -1 : 1) : compare_keys(own, key);
    };
    // The first row that isn't before the key, or is behind it.
    const auto find_first = [&](std::uint64_t begin, int least_order) {
        std::uint64_t rows = end - begin;
        while (rows > 0) {
            const std::uint64_t half = rows / 2;
            if (order_of(begin + half) < least_order) {
                begin += half + 1;
                rows -= half + 1;
            } else {
                rows = half;
            }
        }
        return begin;
    };
    const std::uint64_t begin = find_first(first, 0);
    return {begin, find_first(begin, 1)};
}

}  // namespace gpu_engine::host
