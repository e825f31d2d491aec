// Rows in an order: radix sorts by words that compare as the values do, from the last key to the first one.
#include <algorithm>

#include "common/query/operation.h"
#include "device/query/operators.h"
#include "device/query/order.h"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

struct SortWordsView {
    const std::uint64_t *values;
    const std::uint64_t *nulls;  // may be null
    std::uint64_t rows;
    ValueType type;
    bool is_upper;  // the upper word of two
    std::uint64_t flip;
    // The highest bit says that a row isn't NULL, if NULLs are first.
    bool has_room_for_nulls;
    bool nulls_are_first;
    std::uint64_t *words;
};

// NULLs are equal; they have the lowest word, unless it is said that they come last.
__global__ void make_words_kernel(const __grid_constant__ SortWordsView view) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    std::uint64_t word = 0;
    if (view.nulls == nullptr || (view.nulls[row / 64] >> (row % 64) & 1) == 0) {
        if (view.type == ValueType::float64) {
            word = order_of_float(float_of_bits(view.values[row]));
        } else if (view.type != ValueType::int128) {
            word = order_of_integer(static_cast<std::int64_t>(view.values[row]));
        } else {
            word = view.is_upper ? order_of_integer(static_cast<std::int64_t>(view.values[2 * row + 1]))
                                 : view.values[2 * row];
        }
        word ^= view.flip;
        if (view.has_room_for_nulls) {
            word = word >> 1 | (view.nulls_are_first ? std::uint64_t(1) << 63 : 0);
        }
    } else if (view.has_room_for_nulls && !view.nulls_are_first) {
        word = UINT64_MAX;
    }
    view.words[row] = word;
}

__global__ void make_null_words_kernel(const std::uint64_t *nulls, std::uint64_t rows, std::uint64_t flip,
                                       std::uint64_t *words) {
    const std::uint64_t row = plain_index();
    if (row < rows) {
        words[row] = (nulls[row / 64] >> (row % 64) & 1) ^ flip;
    }
}

__global__ void gather_nulls_kernel(const std::uint64_t *from, const std::uint32_t *rows, std::uint64_t count,
                                    std::uint64_t *to) {
    const std::uint64_t i = plain_index();
    if (i < count && (from[rows[i] / 64] >> (rows[i] % 64) & 1) != 0) {
        set_null(to, i);
    }
}

class Sorter {
  public:
    Sorter(const Call &call, const Query &query, const Node &node, const Table &rows)
        : call_(call),
          query_(query),
          node_(node),
          rows_(rows),
          words_(call.buffer<std::uint64_t>(rows.rows)) {}

    RowOrder order() {
        Buffer<std::uint32_t> first = first_rows();
        RowOrder order = first.size() > 0 ? RowOrder(call_, std::move(first)) : RowOrder(call_, rows_.rows);
        for (std::uint32_t k = node_.sort_keys.count; rows_.rows > 1 && k-- > 0;) {
            SortWordsView view = view_of_key(key(k));
            for (std::uint32_t word = 0; word < words_of(view.type); ++word) {
                view.is_upper = word == 1;
                make_words(view);
                order.order_by(words_.data());
            }
            if (view.nulls != nullptr) {
                make_null_words_kernel<<<plain_blocks(rows_.rows), plain_threads, 0, call_.stream()>>>(
                    view.nulls, rows_.rows, key(k).nulls_first != 0 ? 1 : 0, words_.data());
                device::check_launch("make_null_words_kernel");
                order.order_by(words_.data());
            }
        }
        return order;
    }

  private:
    const SortKey &key(std::uint32_t k) const { return query_.sort_keys[node_.sort_keys.first + k]; }

    SortWordsView view_of_key(const SortKey &key) const {
        const Table::Column &column = rows_.columns[key.column];
        SortWordsView view = {};
        view.values = column.values.data();
        view.nulls = column.nulls.size() > 0 ? column.nulls.data() : nullptr;
        view.rows = rows_.rows;
        view.type = column.type;
        view.flip = key.descends != 0 ? UINT64_MAX : 0;
        view.words = words_.data();
        return view;
    }
    void make_words(const SortWordsView &view) {
        make_words_kernel<<<plain_blocks(rows_.rows), plain_threads, 0, call_.stream()>>>(view);
        device::check_launch("make_words_kernel");
    }

    // The first key leaves few rows, where few are wanted. With NULLs its lowest bit makes room for them.
    Buffer<std::uint32_t> first_rows() {
        if (node_.sort_keys.count == 0 || node_.limit >= rows_.rows) {
            return {};
        }
        SortWordsView view = view_of_key(key(0));
        view.is_upper = true;
        view.has_room_for_nulls = view.nulls != nullptr;
        view.nulls_are_first = key(0).nulls_first != 0;
        make_words(view);
        return find_first_rows(call_, words_.data(), rows_.rows, node_.limit);
    }

    const Call &call_;
    const Query &query_;
    const Node &node_;
    const Table &rows_;
    const Buffer<std::uint64_t> words_;
};

}  // namespace

Table sort(const Call &call, const Query &query, const Node &node, const Table &rows) {
    const RowOrder order = Sorter(call, query, node, rows).order();
    Table sorted;
    sorted.rows = std::min(rows.rows, node.limit);
    for (const Table::Column &column : rows.columns) {
        const bool may_be_null = column.nulls.size() > 0;
        Table::Column &to = sorted.add(call, column.type, may_be_null);
        gather_words(call, column.values.data(), order.rows(), sorted.rows, words_of(column.type),
                     to.values.data());
        if (may_be_null && sorted.rows > 0) {
            gather_nulls_kernel<<<plain_blocks(sorted.rows), plain_threads, 0, call.stream()>>>(
                column.nulls.data(), order.rows(), sorted.rows, to.nulls.data());
            device::check_launch("gather_nulls_kernel");
        }
    }
    return sorted;
}

}  // namespace gpu_engine::query::on_device
