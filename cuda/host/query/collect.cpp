#include "host/query/collect.h"

#include <bit>

#include "host/query/order_words.h"

namespace gpu_engine::host {
namespace {

// Rows that can't be among the first are left out when there are so many more than these.
constexpr std::uint64_t rows_more = 4096;

bool is_before(const std::uint64_t *one, const std::uint64_t *other, std::uint32_t words) {
    for (std::uint32_t i = 0; i < words; ++i) {
        if (one[i] != other[i]) {
            return one[i] < other[i];
        }
    }
    return false;
}

template <typename Type>
bool is_less(Type one, Type other) {
    if constexpr (std::is_same_v<Type, double>) {
        return query::order_of_float(one) < query::order_of_float(other);
    } else {
        return one < other;
    }
}

// A bound of values that are kept in fewer bits: no other of them is nearer to it.
template <typename Type, typename Own>
Type bound_among(Own bound) {
    if constexpr (std::is_same_v<Own, Int128> && std::is_same_v<Type, std::int64_t>) {
        return static_cast<std::int64_t>(std::clamp<Int128>(bound, INT64_MIN, INT64_MAX));
    } else {
        return static_cast<Type>(bound);
    }
}

void copy_row(const std::uint64_t *from, QueryRows *to) {
    std::copy_n(from, to->words(), to->add());
}

}  // namespace

SortPlan::SortPlan(const query::Query &query, const query::Node &sort, const query::RecordLayout &layout)
    : keys(query.sort_keys + sort.sort_keys.first,
           query.sort_keys + sort.sort_keys.first + sort.sort_keys.count),
      limit(sort.limit) {
    for (const query::SortKey &key : keys) {
        words.push_back(key_words);
        key_words += 1 + query::words_of(layout.types[key.column]);
    }
}

RowCollector::RowCollector(MemoryBudget &budget, const query::RecordLayout &layout, const SortPlan &sort)
    : budget_(budget),
      layout_(layout),
      sort_(sort),
      rows_(budget, sort.key_words + layout.record_words),
      vectors_(layout.types.size()),
      keys_(budget, std::uint64_t{sort.key_words} * query_tile_rows) {
    std::uint64_t bytes = 0;
    for (const ValueType type : layout.types) {
        bytes += std::uint64_t{query_tile_rows} * (bytes_of(type) + 1);
    }
    memory_ = Buffer<char>(budget, bytes);
    char *at = memory_.data();
    for (const ValueType type : layout.types) {
        const std::uint64_t value_bytes = std::uint64_t{query_tile_rows} * bytes_of(type);
        rooms_.push_back({at, reinterpret_cast<std::uint8_t *>(at) + value_bytes});
        at += value_bytes + query_tile_rows;
    }
}

void RowCollector::write_keys(std::uint32_t count) {
    for (std::size_t k = 0; k < sort_.keys.size(); ++k) {
        const query::SortKey &key = sort_.keys[k];
        const Vector &vector = vectors_[key.column];
        const ValueType type = layout_.types[key.column];
        const std::uint32_t stride = sort_.key_words;
        const std::uint64_t inverted = key.descends != 0 ? UINT64_MAX : 0;
        std::uint64_t *keys = keys_.data() + sort_.words[k];
        with_stored(vector.stored(), [&]<typename Type>(Type) {
            const Type *values = vector.as<Type>();
            for (std::uint32_t i = 0; i < count; ++i) {
                std::uint64_t *words = keys + std::uint64_t{i} * stride;
                if (vector.is_narrow) {
                    order_words(static_cast<Int128>(values[i]), words + 1);
                } else {
                    order_words(values[i], words + 1);
                }
                const bool is_null = vector.nulls != nullptr && vector.nulls[i] != 0;
                words[0] = is_null == (key.nulls_first != 0) ? 0 : 1;
                for (std::uint32_t word = 1; word <= query::words_of(type); ++word) {
                    words[word] = is_null ? 0 : words[word] ^ inverted;
                }
            }
        });
    }
}

// Leaves rows whose first key isn't behind the bound's. The others' columns needn't be loaded. False: there
// are none.
bool RowCollector::leave_candidates(TileInput *input) {
    const query::SortKey &key = sort_.keys.front();
    const ValueType type = layout_.types[key.column];
    const std::uint32_t count = input->count();
    const Vector vector = input->load(key.column, rooms_[key.column]);
    const std::uint64_t inverted = key.descends != 0 ? UINT64_MAX : 0;
    const bool is_bound_null = (bound_[0] == 0) == (key.nulls_first != 0);
    std::uint64_t bound[2] = {};
    for (std::uint32_t word = 0; word < query::words_of(type); ++word) {
        bound[word] = bound_[1 + word] ^ inverted;
    }
    std::uint16_t positions[query_tile_rows];
    std::uint32_t left = 0;
    // NULLs are before a bound that is a value if they come first, and no NULL is behind one. Values are
    // behind a bound that is NULL if that comes first.
    const bool leaves_nulls = is_bound_null || key.nulls_first != 0;
    const auto leave = [&](auto leaves_value) {
        for (std::uint32_t i = 0; i < count; ++i) {
            const bool is_null = vector.nulls != nullptr && vector.nulls[i] != 0;
            positions[left] = static_cast<std::uint16_t>(i);
            left += (is_null ? leaves_nulls : leaves_value(i)) ? 1 : 0;
        }
    };
    if (is_bound_null) {
        leave([&](std::uint32_t) { return key.nulls_first == 0; });
    } else {
        with_stored(type, [&]<typename Own>(Own) {
            with_stored(vector.stored(), [&]<typename Type>(Type) {
                const Type *values = vector.as<Type>();
                const Type last = bound_among<Type>(value_of_order<Own>(bound));
                if (key.descends != 0) {
                    leave([&](std::uint32_t i) { return !is_less(values[i], last); });
                } else {
                    leave([&](std::uint32_t i) { return !is_less(last, values[i]); });
                }
            });
        });
    }
    if (left < count) {
        input->keep(positions, left);
    }
    return left > 0;
}

void RowCollector::add(TileInput &input) {
    if (!bound_.empty() && !sort_.keys.empty() && !leave_candidates(&input)) {
        return;
    }
    const std::uint32_t count = input.count();
    for (std::uint32_t i = 0; i < vectors_.size(); ++i) {
        vectors_[i] = input.load(i, rooms_[i]);
    }
    write_keys(count);
    std::uint64_t *records[query_tile_rows];
    std::uint16_t numbers[query_tile_rows];
    std::uint32_t added = 0;
    // Records of the first piece move when it grows, so that there is room before any is written.
    const std::uint64_t first = rows_.count();
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t *key = keys_.data() + std::uint64_t{i} * sort_.key_words;
        if (bound_.empty() || is_before(key, bound_.data(), sort_.key_words)) {
            numbers[added++] = static_cast<std::uint16_t>(i);
            rows_.add();
        }
    }
    for (std::uint32_t i = 0; i < added; ++i) {
        std::uint64_t *row = rows_.record(first + i);
        std::copy_n(keys_.data() + std::uint64_t{numbers[i]} * sort_.key_words, sort_.key_words, row);
        records[i] = row + sort_.key_words;
        std::fill_n(records[i], query::null_words(static_cast<std::uint32_t>(vectors_.size())), 0);
    }
    for (std::size_t column = 0; column < vectors_.size(); ++column) {
        const Vector &vector = vectors_[column];
        const std::uint32_t word = layout_.words[column];
        with_stored(vector.stored(), [&]<typename Type>(Type) {
            const Type *values = vector.as<Type>();
            for (std::uint32_t i = 0; i < added; ++i) {
                if (vector.is_narrow) {
                    query::Words<Int128>::write(static_cast<Int128>(values[numbers[i]]), records[i] + word);
                } else {
                    query::Words<Type>::write(values[numbers[i]], records[i] + word);
                }
            }
        });
        for (std::uint32_t i = 0; vector.nulls != nullptr && i < added; ++i) {
            records[i][column / 64] |= std::uint64_t{vector.nulls[numbers[i]]} << (column % 64);
        }
    }
    if (sort_.limit < UINT64_MAX / 2 && rows_.count() > 2 * sort_.limit + rows_more) {
        leave_first();
    }
}

void RowCollector::leave_first() {
    if (sort_.limit == 0) {
        rows_.cut(0);
        return;
    }
    Buffer<const std::uint64_t *> order(budget_, rows_.count());
    for (std::uint64_t i = 0; i < rows_.count(); ++i) {
        order[i] = rows_.record(i);
    }
    std::nth_element(
        order.data(), order.data() + sort_.limit - 1, order.data() + rows_.count(),
        [this](const std::uint64_t *a, const std::uint64_t *b) { return is_before(a, b, sort_.key_words); });
    QueryRows left(budget_, rows_.words());
    for (std::uint64_t i = 0; i < sort_.limit; ++i) {
        copy_row(order[i], &left);
    }
    const std::uint64_t *last = order[sort_.limit - 1];
    bound_.assign(last, last + sort_.key_words);
    rows_ = std::move(left);
}

namespace {

// The first words of rows' keys in one, as far as they have room: of each the bits in which rows differ.
class PackedKeys {
  public:
    PackedKeys(const Workers &workers, const SortPlan &sort, const std::vector<QueryRows *> &parts)
        : words_(sort.key_words) {
        for (std::size_t k = 0; k < sort.keys.size(); ++k) {
            const std::uint32_t end = k + 1 < sort.keys.size() ? sort.words[k + 1] : sort.key_words;
            for (std::uint32_t word = sort.words[k]; word < end; ++word) {
                words_[word].flag = sort.words[k];
                words_[word].of_null = sort.keys[k].nulls_first != 0 ? 0 : 1;
            }
        }
        find_ranges(workers, parts);
        std::uint32_t room = 64;
        for (; packed_ < words_.size() && room > 0; ++packed_) {
            Word &word = words_[packed_];
            const auto bits =
                static_cast<std::uint32_t>(std::bit_width(word.high < word.low ? 0 : word.high - word.low));
            word.bits = std::min(bits, room);
            word.dropped = bits - word.bits;
            room -= word.bits;
        }
    }

    std::uint64_t pack(const std::uint64_t *key) const noexcept {
        std::uint64_t packed = 0;
        for (std::uint32_t i = 0; i < packed_; ++i) {
            const Word &word = words_[i];
            // A shift by all bits isn't one.
            packed = word.bits == 64 ? 0 : packed << word.bits;
            packed |= is_told(key, i) ? (key[i] - word.low) >> word.dropped : 0;
        }
        return packed;
    }
    // The first word that isn't packed wholly.
    std::uint32_t rest() const noexcept {
        return packed_ > 0 && words_[packed_ - 1].dropped > 0 ? packed_ - 1 : packed_;
    }

  private:
    struct Word {
        std::uint32_t flag;     // the word of its key that says where NULLs are
        std::uint64_t of_null;  // what that is of a NULL, whose other words don't matter then
        std::uint64_t low = UINT64_MAX;
        std::uint64_t high = 0;
        std::uint32_t bits = 0;
        std::uint32_t dropped = 0;
    };

    bool is_told(const std::uint64_t *key, std::uint32_t word) const noexcept {
        return word == words_[word].flag || key[words_[word].flag] != words_[word].of_null;
    }

    void find_ranges(const Workers &workers, const std::vector<QueryRows *> &parts) {
        std::vector<std::vector<Word>> found(parts.size(), words_);
        workers.for_pieces(parts.size(), 1, [&](std::uint64_t first, std::uint64_t end) {
            for (std::uint64_t part = first; part < end; ++part) {
                for (std::uint64_t i = 0; i < parts[part]->count(); ++i) {
                    const std::uint64_t *key = parts[part]->record(i);
                    for (std::uint32_t word = 0; word < words_.size(); ++word) {
                        if (is_told(key, word)) {
                            found[part][word].low = std::min(found[part][word].low, key[word]);
                            found[part][word].high = std::max(found[part][word].high, key[word]);
                        }
                    }
                }
            }
        });
        for (const std::vector<Word> &own : found) {
            for (std::size_t word = 0; word < words_.size(); ++word) {
                words_[word].low = std::min(words_[word].low, own[word].low);
                words_[word].high = std::max(words_[word].high, own[word].high);
            }
        }
    }

    std::vector<Word> words_;
    std::uint32_t packed_ = 0;
};

}  // namespace

QueryRows sort_rows(MemoryBudget &budget, const Workers &workers, const SortPlan &sort,
                    std::uint32_t record_words, const std::vector<QueryRows *> &parts) {
    struct Row {
        std::uint64_t first;
        const std::uint64_t *words;
    };
    const PackedKeys keys(workers, sort, parts);
    std::vector<std::uint64_t> begins(1, 0);
    for (const QueryRows *part : parts) {
        begins.push_back(begins.back() + part->count());
    }
    const std::uint64_t count = begins.back();
    Buffer<Row> rows(budget, count);
    workers.for_pieces(parts.size(), 1, [&](std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t part = first; part < end; ++part) {
            for (std::uint64_t i = 0; i < parts[part]->count(); ++i) {
                const std::uint64_t *words = parts[part]->record(i);
                rows[begins[part] + i] = {keys.pack(words), words};
            }
        }
    });
    const std::uint64_t wanted = std::min(count, sort.limit);
    const std::uint32_t rest = keys.rest();
    const auto is_first = [&](const Row &a, const Row &b) {
        return a.first != b.first ? a.first < b.first
                                  : is_before(a.words + rest, b.words + rest, sort.key_words - rest);
    };
    check_cancelled(workers.stream);
    if (wanted > 0 && wanted < count) {
        std::nth_element(rows.data(), rows.data() + wanted - 1, rows.data() + count,
                         workers.cancellable(is_first));
    }
    workers.sort(rows.data(), rows.data() + wanted, is_first);
    QueryRows sorted(budget, record_words);
    for (std::uint64_t i = 0; i < wanted; ++i) {
        std::copy_n(rows[i].words + sort.key_words, record_words, sorted.add());
    }
    return sorted;
}

}  // namespace gpu_engine::host
