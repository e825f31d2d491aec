#include "host/query/scan.h"

#include <algorithm>

#include "common/bits.h"
#include "common/query/decimals.h"
#include "gpu_engine/guard.h"
#include "host/column/select/unpack.h"
#include "host/query/combinations.h"
#include "host/query/kept_map.h"
#include "host/query/load_words.h"

namespace gpu_engine::host {

using packing::group;
using query::ColumnForm;

namespace {

// Codes are read one by one in a group that has no more rows than this on the average.
constexpr std::uint32_t few_rows = 6;

// Ordered bits of a float, as src/keys/key.h makes them, to what it was.
double float32_of_code(std::uint64_t code) {
    const auto ordered = static_cast<std::uint32_t>(code);
    const std::uint32_t bits = (ordered >> 31) != 0 ? ordered ^ 0x80000000 : ~ordered;
    return __builtin_bit_cast(float, bits);
}
double float64_of_code(std::uint64_t code) {
    return query::float_of_bits((code >> 63) != 0 ? code ^ std::uint64_t(1) << 63 : ~code);
}

}  // namespace

// ---- runs -------------------------------------------------------------------------------------------------

RunReader::RunReader(MemoryBudget &budget, const query::Query &query, const query::Node &scan,
                     const query::RunSource &run)
    : store_(dynamic_cast<const HostColumnStore *>(run.store)) {
    if (store_ == nullptr) {
        throw Failure{make_status(StatusCode::invalid_argument, "the store is another engine's")};
    }
    parts_ = &store_->parts();
    for (std::uint32_t i = 0; i < scan.types.count; ++i) {
        add_column(budget, run.columns[i], query.types[scan.types.first + i]);
    }
}

void RunReader::add_column(MemoryBudget &budget, const query::RunColumn &requested, ValueType type) {
    Column column = {};
    column.requested = requested;
    take_kept_map(query::words_of(type), &column.requested);
    column.type = type;
    column.factor = 1;
    if (query::is_of_no_column(requested.form)) {
        columns_.push_back(column);
        return;
    }
    const StoredColumn &stored = parts_->layout.column[requested.column];
    const KeptColumn &kept = parts_->kept.column[requested.column];
    column.bits = stored.bits;
    column.codes = parts_->words.data() + kept.codes;
    column.nulls = stored.null_bits.words > 0 ? parts_->words.data() + kept.null_bits : nullptr;
    column.add =
        requested.form == ColumnForm::integer || requested.form == ColumnForm::decimal ? requested.offset : 0;
    if (requested.form == ColumnForm::decimal) {
        column.factor = static_cast<Int128>(query::power_of_ten(static_cast<std::int32_t>(requested.power)));
    }
    if (type == ValueType::int128 && requested.form == ColumnForm::map) {
        column.is_narrow =
            requested.kept != nullptr
                ? static_cast<const HostKeptMap *>(requested.kept)->is_narrow()
                : requested.places <= parts_->layout.rows && are_narrow(requested.values, requested.places);
    }
    const bool is_coded = requested.form == ColumnForm::map || requested.form == ColumnForm::code;
    if (!is_coded && stored.encoding == ColumnEncoding::dictionary) {
        const std::uint64_t *entries = parts_->words.data() + kept.dictionary;
        Buffer<std::uint64_t> values(budget, std::max<std::uint64_t>(stored.distinct, 1));
        values[0] = 0;
        for (std::uint64_t i = 0; i < stored.distinct; ++i) {
            values[i] = packed_at(entries, i, stored.entry_bits) + stored.base + column.add;
        }
        column.values = values.data();
        column.value_count = values.size();
        dictionaries_.push_back(std::move(values));
    } else if (!is_coded && stored.encoding == ColumnEncoding::frame) {
        column.add += stored.base;
    }
    columns_.push_back(column);
}

void RunTile::begin(const RunReader &reader, std::uint64_t first, std::uint32_t groups,
                    const std::uint64_t *selected) noexcept {
    reader_ = &reader;
    combinations_ = nullptr;
    weights_ = nullptr;
    first_ = first;
    groups_ = groups;
    std::copy_n(selected, groups, selected_);
    if (std::all_of(selected, selected + groups, [](std::uint64_t bits) { return bits == UINT64_MAX; })) {
        begin_all(groups * group);
        return;
    }
    all_ = false;
    count_ = 0;
    for (std::uint32_t word = 0; word < groups; ++word) {
        for (std::uint64_t bits = selected[word]; bits != 0; bits &= bits - 1) {
            positions_[count_++] = static_cast<std::uint16_t>(word * group + lowest_bit(bits));
        }
    }
}

void RunTile::begin(const RunReader &reader, const Combinations &combinations, const std::uint32_t *places,
                    const std::uint32_t *weights, std::uint32_t count) noexcept {
    reader_ = &reader;
    combinations_ = &combinations;
    combined_ = places;
    weights_ = weights;
    begin_all(count);
}

const std::uint32_t *RunTile::load_weights(std::uint32_t *room) {
    if (weights_ == nullptr) {
        return nullptr;
    }
    for_rows([&](std::uint32_t i, std::uint32_t row) { room[i] = weights_[row]; });
    return room;
}

template <typename Code>
void RunTile::read_codes(std::uint32_t number, const RunReader::Column &column) {
    auto *codes = reinterpret_cast<Code *>(codes_.data());
    if (combinations_ != nullptr) {
        for_rows([&](std::uint32_t, std::uint32_t row) {
            codes[row] = combinations_->code_at(number, combined_[row]);
        });
        return;
    }
    if (!all_ && count_ <= groups_ * few_rows) {
        for_rows([&](std::uint32_t, std::uint32_t row) {
            codes[row] = static_cast<Code>(packed_at(column.codes, first_ * group + row, column.bits));
        });
        return;
    }
    for (std::uint32_t i = 0; i < groups_; ++i) {
        if (selected_[i] != 0) {
            unpack_group(column.codes, first_ + i, column.bits, codes + i * group);
        }
    }
}

template <typename Code>
void RunTile::read_integers(const RunReader::Column &column, std::int64_t *integers) {
    const auto *codes = reinterpret_cast<const Code *>(codes_.data());
    if (const std::uint64_t *values = column.values; values != nullptr) {
        const std::uint64_t count = column.value_count;
        for_rows([&](std::uint32_t i, std::uint32_t row) {
            integers[i] = static_cast<std::int64_t>(values[codes[row] < count ? codes[row] : 0]);
        });
        return;
    }
    const std::uint64_t add = column.add;
    for_rows([&](std::uint32_t i, std::uint32_t row) {
        integers[i] = static_cast<std::int64_t>(codes[row] + add);
    });
}

template <typename Code>
void RunTile::read_map(const RunReader::Column &column, const VectorRoom &room, bool *has_nulls) {
    const auto *codes = reinterpret_cast<const Code *>(codes_.data());
    const query::RunColumn &map = column.requested;
    std::uint8_t any_null = 0;
    for_rows([&](std::uint32_t i, std::uint32_t row) {
        const bool is_there = codes[row] < map.places;
        room.nulls[i] = !is_there || (map.nulls != nullptr && bit_of(map.nulls, codes[row])) ? 1 : 0;
        any_null |= room.nulls[i];
    });
    *has_nulls = any_null != 0;
    if (column.is_narrow) {
        for_rows([&](std::uint32_t i, std::uint32_t row) {
            const std::uint64_t low = codes[row] < map.places ? map.values[std::uint64_t{codes[row]} * 2] : 0;
            room.as<std::int64_t>()[i] = static_cast<std::int64_t>(low);
        });
        return;
    }
    with_stored(column.type, [&]<typename Type>(Type) {
        constexpr std::uint32_t words = query::Words<Type>::count;
        static constexpr std::uint64_t nothing[words] = {};
        for_rows([&](std::uint32_t i, std::uint32_t row) {
            room.as<Type>()[i] = query::Words<Type>::read(
                codes[row] < map.places ? map.values + std::uint64_t{codes[row]} * words : nothing);
        });
    });
}

bool RunTile::add_nulls(std::uint32_t number, const RunReader::Column &column, std::uint8_t *nulls,
                        bool has_nulls) const {
    if (column.nulls == nullptr) {
        return has_nulls;
    }
    std::uint8_t any = 0;
    const auto add = [&](auto null_at) {
        for_rows([&](std::uint32_t i, std::uint32_t row) {
            const auto null = static_cast<std::uint8_t>(null_at(row));
            nulls[i] = has_nulls ? static_cast<std::uint8_t>(nulls[i] | null) : null;
            any |= nulls[i];
        });
    };
    if (combinations_ != nullptr) {
        const std::uint32_t null = combinations_->codes_of(number);
        add([&](std::uint32_t row) { return combinations_->code_at(number, combined_[row]) == null; });
    } else {
        const std::uint64_t *bits = column.nulls + first_;
        add([bits](std::uint32_t row) { return bits[row / 64] >> (row % 64) & 1; });
    }
    return any != 0;
}

Vector RunTile::load(std::uint32_t number, const VectorRoom &room) {
    const RunReader::Column &column = reader_->columns()[number];
    if (column.requested.form == ColumnForm::constant) {
        const std::uint64_t words[2] = {column.requested.offset,
                                        (column.requested.offset >> 63) != 0 ? UINT64_MAX : 0};
        const bool is_narrow = column.type == ValueType::int128;
        with_stored(is_narrow ? ValueType::int64 : column.type, [&]<typename Type>(Type) {
            std::fill_n(room.as<Type>(), count_, query::Words<Type>::read(words));
        });
        return {column.type, is_narrow, room.values, nullptr};
    }
    if (column.requested.form == ColumnForm::row) {
        const std::uint64_t first = column.requested.offset + first_ * group;
        for_rows([&](std::uint32_t i, std::uint32_t row) {
            room.as<std::int64_t>()[i] = static_cast<std::int64_t>(first + row);
        });
        return {column.type, false, room.values, nullptr};
    }
    const bool is_map = column.requested.form == ColumnForm::map;
    bool has_nulls = false;
    const bool is_direct = !is_map && (column.type == ValueType::int64 || column.type == ValueType::int128);
    std::int64_t *integers = is_direct ? room.as<std::int64_t>() : integers_.data();
    with_code(column.bits, [&]<typename Code>(Code) {
        read_codes<Code>(number, column);
        if (is_map) {
            read_map<Code>(column, room, &has_nulls);
        } else {
            read_integers<Code>(column, integers);
        }
    });
    has_nulls = add_nulls(number, column, room.nulls, has_nulls);
    const std::uint8_t *nulls = has_nulls ? room.nulls : nullptr;
    if (is_map) {
        return {column.type, column.is_narrow, room.values, nulls};
    }
    return finish(column, integers, room, nulls);
}

// Makes values of a tile's integers, which lie in the room already where these are int64 or int128.
Vector RunTile::finish(const RunReader::Column &column, const std::int64_t *integers, const VectorRoom &room,
                       const std::uint8_t *nulls) {
    const auto convert = [&](auto *values, auto one) {
        for (std::uint32_t i = 0; i < count_; ++i) {
            values[i] = one(integers[i]);
        }
    };
    switch (column.requested.form) {
        case ColumnForm::flag:
            convert(room.as<Truth>(), [](std::int64_t value) { return Truth(value != 0 ? 1 : 0); });
            break;
        case ColumnForm::float32:
            convert(room.as<double>(),
                    [](std::int64_t value) { return float32_of_code(static_cast<std::uint64_t>(value)); });
            break;
        case ColumnForm::float64:
            convert(room.as<double>(),
                    [](std::int64_t value) { return float64_of_code(static_cast<std::uint64_t>(value)); });
            break;
        case ColumnForm::decimal: {
            if (column.factor == 1) {
                break;
            }
            bool has_room = query::fits_width(column.factor, 8);
            std::copy_n(integers, count_, integers_.data());
            integers = integers_.data();
            if (has_room) {
                const auto factor = static_cast<std::int64_t>(column.factor);
                std::int64_t *products = room.as<std::int64_t>();
                for (std::uint32_t i = 0; i < count_; ++i) {
                    has_room &= query::multiply_integers(integers[i], factor, products + i) ||
                                (nulls != nullptr && nulls[i] != 0);
                }
            }
            if (!has_room && column.type == ValueType::int128) {
                const auto factor = static_cast<UInt128>(column.factor);
                convert(room.as<Int128>(), [=](std::int64_t value) {
                    return static_cast<Int128>(static_cast<UInt128>(static_cast<Int128>(value)) * factor);
                });
                return {column.type, false, room.values, nulls};
            }
            break;
        }
        default:
            break;
    }
    return {column.type, column.type == ValueType::int128, room.values, nulls};
}

// ---- rows -------------------------------------------------------------------------------------------------

Vector RecordTile::load(std::uint32_t column, const VectorRoom &room) {
    const std::uint32_t record_words = layout_.record_words;
    const std::uint32_t word = layout_.words[column];
    const auto record_of = [&](std::uint32_t i) {
        return records_ + std::uint64_t{all_ ? i : positions_[i]} * record_words;
    };
    return load_words(
        layout_.types[column], count_, room, [&](std::uint32_t i) { return record_of(i) + word; },
        [&](std::uint32_t i) { return bit_of(record_of(i), column); });
}

Vector InputTile::load(std::uint32_t column, const VectorRoom &room) {
    const query::InputColumn &values = input_.columns[column];
    const std::uint32_t words = query::words_of(types_[column]);
    const auto row_of = [&](std::uint32_t i) { return first_ + (all_ ? i : positions_[i]); };
    return load_words(
        types_[column], count_, room, [&](std::uint32_t i) { return values.values + row_of(i) * words; },
        [&](std::uint32_t i) { return values.nulls != nullptr && bit_of(values.nulls, row_of(i)); });
}

}  // namespace gpu_engine::host
