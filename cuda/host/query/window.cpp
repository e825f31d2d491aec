#include "host/query/window.h"

#include <array>

#include "common/query/window.h"
#include "host/query/order_words.h"

namespace gpu_engine::host {

using query::Accumulator;
using query::AccumulatorKind;
using query::Int128;
using query::UInt128;
using query::ValueType;

namespace {

// What is found before the rows of a partition are written, by place in it.
struct Scratch {
    Buffer<std::uint64_t> peers_last;
    Buffer<std::uint64_t> counts;  // of rows that count, before each row; one more
    Buffer<UInt128> sums;          // likewise
    Buffer<double> float_sums;     // up to each row that counts, from the first one on
    Buffer<std::uint64_t> best;    // the row with the least or greatest argument so far
};

// A sort key in a row's record.
struct Key {
    std::uint32_t column;
    std::uint32_t word;
    std::uint32_t words;
    bool is_float;
};

class Window {
  public:
    Window(MemoryBudget &budget, const Workers &workers, const query::Query &query, const query::Node &node,
           const query::RecordLayout &layout, const query::RecordLayout &full, const QueryRows &rows,
           QueryRows *written)
        : budget_(budget),
          workers_(workers),
          query_(query),
          node_(node),
          layout_(layout),
          full_(full),
          rows_(rows),
          written_(*written),
          columns_(layout.types.size()),
          has_peers_(looks_at_peers(query, node)),
          frame_(query::frame_of_node(query, node)) {
        for (std::uint32_t k = 0; k < node.sort_keys.count; ++k) {
            const std::uint32_t column = query.sort_keys[node.sort_keys.first + k].column;
            const ValueType type = layout.types[column];
            keys_.push_back(
                {column, layout.words[column], query::words_of(type), type == ValueType::float64});
        }
    }

    // Writes the partitions that begin with one of these rows.
    void write_partitions(std::uint64_t first, std::uint64_t end) const {
        Scratch scratch;
        while (first < end && !begins(first, node_.partition_keys)) {
            ++first;
        }
        while (first < end) {
            std::uint64_t next = first + 1;
            while (next < rows_.count() && !begins(next, node_.partition_keys)) {
                ++next;
            }
            write(first, next, &scratch);
            first = next;
        }
    }

  private:
    template <typename Element>
    void make_room(Buffer<Element> *buffer, std::uint64_t count) const {
        if (buffer->size() < count) {
            *buffer = Buffer<Element>();
            *buffer = Buffer<Element>(budget_, count + count / 2);
        }
    }

    bool is_null(std::uint64_t row, std::uint32_t column) const {
        return (rows_.record(row)[column / 64] >> (column % 64) & 1) != 0;
    }
    const std::uint64_t *words(std::uint64_t row, std::uint32_t column) const {
        return rows_.record(row) + layout_.words[column];
    }
    // Compares as values do, of one column.
    std::array<std::uint64_t, 2> order_of(std::uint64_t row, std::uint32_t column) const {
        std::array<std::uint64_t, 2> order = {};
        with_stored(layout_.types[column], [&]<typename Type>(Type) {
            order_words(query::Words<Type>::read(words(row, column)), order.data());
        });
        return order;
    }

    // Does a row differ from the one before in the first `keys` sort keys?
    bool begins(std::uint64_t row, std::uint32_t keys) const {
        if (row == 0) {
            return true;
        }
        const std::uint64_t *own = rows_.record(row);
        const std::uint64_t *before = rows_.record(row - 1);
        for (std::uint32_t k = 0; k < keys; ++k) {
            const Key &key = keys_[k];
            const std::uint64_t null_bit = std::uint64_t(1) << (key.column % 64);
            const bool is_own_null = (own[key.column / 64] & null_bit) != 0;
            if (is_own_null != ((before[key.column / 64] & null_bit) != 0)) {
                return true;
            }
            if (is_own_null) {
                continue;
            }
            for (std::uint32_t word = key.word; word < key.word + key.words; ++word) {
                // -0 equals 0, and any NaN another one.
                if (own[word] != before[word] &&
                    (!key.is_float || query::order_of_float(query::float_of_bits(own[word])) !=
                                          query::order_of_float(query::float_of_bits(before[word])))) {
                    return true;
                }
            }
        }
        return false;
    }

    // Does any function look at rows that equal a row by all sort keys?
    static bool looks_at_peers(const query::Query &query, const query::Node &node) {
        const bool has_frame = node.frame_first == query::peers_first ||
                               node.frame_last == query::peers_last ||
                               query::frame_of_node(query, node).is_by_values();
        return std::any_of(query.accumulators + node.accumulators.first,
                           query.accumulators + node.accumulators.first + node.accumulators.count,
                           [&](const Accumulator &function) {
                               switch (function.kind) {
                                   case AccumulatorKind::rank:
                                   case AccumulatorKind::dense_rank:
                                   case AccumulatorKind::percent_rank:
                                   case AccumulatorKind::cume_dist:
                                       return true;
                                   case AccumulatorKind::row_number:
                                   case AccumulatorKind::ntile:
                                   case AccumulatorKind::earlier:
                                   case AccumulatorKind::later:
                                       return false;
                                   default:
                                       return has_frame;
                               }
                           });
    }

    // Of a frame by values.
    bool is_less(std::uint64_t one, std::uint32_t column, std::uint64_t other,
                 std::uint32_t others_column) const {
        return order_of(one, column) < order_of(other, others_column);
    }
    struct FrameValues {
        const Window &window;

        bool is_null(std::uint64_t row) const { return window.is_null(row, window.node_.frame_key); }
        bool is_less_than_from(std::uint64_t row, std::uint64_t of) const {
            return window.is_less(row, window.node_.frame_key, of, window.node_.frame_from);
        }
        bool is_greater_than_from(std::uint64_t row, std::uint64_t of) const {
            return window.is_less(of, window.node_.frame_from, row, window.node_.frame_key);
        }
        bool is_less_than_to(std::uint64_t row, std::uint64_t of) const {
            return window.is_less(row, window.node_.frame_key, of, window.node_.frame_to);
        }
        bool is_greater_than_to(std::uint64_t row, std::uint64_t of) const {
            return window.is_less(of, window.node_.frame_to, row, window.node_.frame_key);
        }
    };

    bool counts(const Accumulator &function, std::uint64_t row) const {
        return (function.filter == query::no_step ||
                (!is_null(row, function.filter) && *words(row, function.filter) != 0)) &&
               (!query::takes_argument(function.kind) || !is_null(row, function.argument));
    }

    // ---- a partition's rows, from `first` on, without `end` ----

    void write(std::uint64_t first, std::uint64_t end, Scratch *scratch) const {
        make_room(&scratch->peers_last, end - first);
        std::uint64_t last = end - 1;
        for (std::uint64_t row = end; row-- > first;) {
            scratch->peers_last[row - first] = last;
            if (row > first && (!has_peers_ || begins(row, node_.sort_keys.count))) {
                last = row - 1;
            }
        }
        for (std::uint64_t row = first; row < end; ++row) {
            const std::uint64_t *from = rows_.record(row);
            std::uint64_t *to = written_.record(row);
            const std::uint32_t null_words = query::null_words(static_cast<std::uint32_t>(columns_));
            const std::uint32_t full_null_words =
                query::null_words(static_cast<std::uint32_t>(full_.types.size()));
            std::fill_n(std::copy_n(from, null_words, to), full_null_words - null_words, 0);
            std::copy_n(from + null_words, layout_.record_words - null_words, to + full_null_words);
        }
        for (std::uint32_t i = 0; i < node_.accumulators.count; ++i) {
            write_function(query_.accumulators[node_.accumulators.first + i],
                           static_cast<std::uint32_t>(columns_ + i), first, end, scratch);
        }
    }

    // Calls visit(place, how many groups of equal rows come before, frame).
    template <typename Visit>
    void for_rows(std::uint64_t first, std::uint64_t end, const Scratch &scratch, Visit visit) const {
        query::WindowPlace place = {first, first, end - 1, first, first};
        std::uint64_t groups = 0;
        for (; place.row < end; ++place.row) {
            if ((place.row & 0xffff) == 0) {
                check_cancelled(workers_.stream);
            }
            place.peers_last = scratch.peers_last[place.row - first];
            visit(place, groups, query::frame_of(frame_, place, FrameValues{*this}));
            if (place.row == place.peers_last) {
                place.peers_first = place.row + 1;
                ++groups;
            }
        }
    }

    void set_null(std::uint64_t row, std::uint32_t column) const {
        written_.record(row)[column / 64] |= std::uint64_t(1) << (column % 64);
    }
    std::uint64_t *result(std::uint64_t row, std::uint32_t column) const {
        return written_.record(row) + full_.words[column];
    }
    void set_number(std::uint64_t row, std::uint32_t column, std::uint64_t number) const {
        *result(row, column) = number;
    }
    void set_real(std::uint64_t row, std::uint32_t column, double number) const {
        query::Words<double>::write(number, result(row, column));
    }
    // The argument of another row; NULL of none.
    void set_argument(std::uint64_t row, std::uint32_t column, std::uint32_t argument,
                      std::uint64_t of) const {
        const std::uint32_t count = query::words_of(layout_.types[argument]);
        if (of == query::not_in_partition || is_null(of, argument)) {
            set_null(row, column);
            std::fill_n(result(row, column), count, 0);
        } else {
            std::copy_n(words(of, argument), count, result(row, column));
        }
    }

    void write_function(const Accumulator &function, std::uint32_t column, std::uint64_t first,
                        std::uint64_t end, Scratch *scratch) const {
        switch (function.kind) {
            case AccumulatorKind::row_number:
            case AccumulatorKind::rank:
            case AccumulatorKind::dense_rank:
            case AccumulatorKind::ntile:
                for_rows(first, end, *scratch,
                         [&](const query::WindowPlace &place, std::uint64_t groups, const auto &) {
                             set_number(
                                 place.row, column,
                                 query::number_of_function(function.kind, function.detail, place, groups));
                         });
                break;
            case AccumulatorKind::percent_rank:
            case AccumulatorKind::cume_dist:
                for_rows(first, end, *scratch,
                         [&](const query::WindowPlace &place, std::uint64_t, const auto &) {
                             set_real(place.row, column, query::share_of_function(function.kind, place));
                         });
                break;
            case AccumulatorKind::sum_float:
                write_float_sums(function, column, first, end, scratch);
                break;
            case AccumulatorKind::earlier:
            case AccumulatorKind::later:
                write_others(function, column, first, end, scratch);
                break;
            case AccumulatorKind::count_rows:
            case AccumulatorKind::count:
            case AccumulatorKind::sum:
                write_sums(function, column, first, end, scratch);
                break;
            case AccumulatorKind::least:
            case AccumulatorKind::greatest:
                write_extremes(function, column, first, end, scratch);
                break;
            default:
                for_rows(first, end, *scratch,
                         [&](const query::WindowPlace &place, std::uint64_t, const query::FrameRows &frame) {
                             set_argument(
                                 place.row, column, function.argument,
                                 query::row_of_function(function.kind, function.detail, place, frame));
                         });
        }
    }

    // Sums up to each row; a frame's is the difference of two, modulo 2^128.
    void write_sums(const Accumulator &function, std::uint32_t column, std::uint64_t first, std::uint64_t end,
                    Scratch *scratch) const {
        const bool adds = function.kind == AccumulatorKind::sum;
        make_room(&scratch->counts, end - first + 1);
        make_room(&scratch->sums, adds ? end - first + 1 : 0);
        std::uint64_t count = 0;
        UInt128 sum = 0;
        for (std::uint64_t row = first;; ++row) {
            scratch->counts[row - first] = count;
            if (adds) {
                scratch->sums[row - first] = sum;
            }
            if (row == end) {
                break;
            }
            if (counts(function, row)) {
                ++count;
                if (adds) {
                    sum +=
                        layout_.types[function.argument] == ValueType::int128
                            ? static_cast<UInt128>(query::Words<Int128>::read(words(row, function.argument)))
                            : static_cast<UInt128>(static_cast<Int128>(
                                  query::Words<std::int64_t>::read(words(row, function.argument))));
                }
            }
        }
        for_rows(first, end, *scratch,
                 [&](const query::WindowPlace &place, std::uint64_t, const query::FrameRows &frame) {
                     const std::uint64_t from = frame.first - first;
                     const std::uint64_t to = frame.end - first;
                     const std::uint64_t counted = scratch->counts[to] - scratch->counts[from];
                     if (!adds) {
                         set_number(place.row, column, counted);
                         return;
                     }
                     query::Words<Int128>::write(static_cast<Int128>(scratch->sums[to] - scratch->sums[from]),
                                                 result(place.row, column));
                     if (counted == 0) {
                         set_null(place.row, column);
                     }
                 });
    }

    // Of rows before or behind; what is given in place of those that aren't there is the row's own.
    void write_others(const Accumulator &function, std::uint32_t column, std::uint64_t first,
                      std::uint64_t end, Scratch *scratch) const {
        for_rows(first, end, *scratch,
                 [&](const query::WindowPlace &place, std::uint64_t, const query::FrameRows &frame) {
                     const std::uint64_t of =
                         query::row_of_function(function.kind, function.detail, place, frame);
                     if (of == query::not_in_partition && function.filter != query::no_step) {
                         set_argument(place.row, column, function.filter, place.row);
                     } else {
                         set_argument(place.row, column, function.argument, of);
                     }
                 });
    }

    // Rows are added in their order, as PostgreSQL adds them, so that each sum is rounded as there.
    void write_float_sums(const Accumulator &function, std::uint32_t column, std::uint64_t first,
                          std::uint64_t end, Scratch *scratch) const {
        struct Sum {
            double value;
            bool is_there;
        };
        const auto add = [&](Sum sum, std::uint64_t row) {
            if (!counts(function, row)) {
                return sum;
            }
            const double value = query::Words<double>::read(words(row, function.argument));
            return Sum{sum.is_there ? sum.value + value : value, true};
        };
        const bool begins_with_partition = node_.frame_first == query::partition_first;
        make_room(&scratch->float_sums, begins_with_partition ? end - first : 0);
        Sum all = {};
        std::uint64_t first_counted = end;
        for (std::uint64_t row = first; begins_with_partition && row < end; ++row) {
            all = add(all, row);
            first_counted = all.is_there && first_counted == end ? row : first_counted;
            scratch->float_sums[row - first] = all.value;
        }
        for_rows(first, end, *scratch,
                 [&](const query::WindowPlace &place, std::uint64_t, const query::FrameRows &frame) {
                     Sum sum = {};
                     if (begins_with_partition && !frame.is_empty()) {
                         sum = {scratch->float_sums[frame.end - 1 - first], frame.end > first_counted};
                     }
                     for (std::uint64_t row = frame.first; !begins_with_partition && row < frame.end; ++row) {
                         sum = add(sum, row);
                     }
                     set_real(place.row, column, sum.value);
                     if (!sum.is_there) {
                         set_null(place.row, column);
                     }
                 });
    }

    std::uint64_t better(const Accumulator &function, std::uint64_t one, std::uint64_t other) const {
        if (one == query::not_in_partition || other == query::not_in_partition) {
            return one == query::not_in_partition ? other : one;
        }
        const auto order = order_of(one, function.argument);
        const auto others = order_of(other, function.argument);
        return (function.kind == AccumulatorKind::least ? others < order : order < others) ? other : one;
    }

    void write_extremes(const Accumulator &function, std::uint32_t column, std::uint64_t first,
                        std::uint64_t end, Scratch *scratch) const {
        make_room(&scratch->best, end - first);
        std::uint64_t best = query::not_in_partition;
        for (std::uint64_t row = first; row < end; ++row) {
            best = better(function, best, counts(function, row) ? row : query::not_in_partition);
            scratch->best[row - first] = best;
        }
        for_rows(first, end, *scratch,
                 [&](const query::WindowPlace &place, std::uint64_t, const query::FrameRows &frame) {
                     std::uint64_t found = query::not_in_partition;
                     if (frame.first == first && !frame.is_empty()) {
                         found = scratch->best[frame.end - 1 - first];
                     } else {
                         for (std::uint64_t row = frame.first; row < frame.end; ++row) {
                             found = better(function, found,
                                            counts(function, row) ? row : query::not_in_partition);
                         }
                     }
                     set_argument(place.row, column, function.argument, found);
                 });
    }

    MemoryBudget &budget_;
    const Workers &workers_;
    const query::Query &query_;
    const query::Node &node_;
    const query::RecordLayout &layout_;
    const query::RecordLayout &full_;
    const QueryRows &rows_;
    QueryRows &written_;
    std::size_t columns_;
    bool has_peers_;
    query::Frame frame_;
    std::vector<Key> keys_;
};

}  // namespace

QueryRows add_functions(MemoryBudget &budget, const Workers &workers, const query::Query &query,
                        const query::Node &window, const query::RecordLayout &layout,
                        const query::RecordLayout &full, const QueryRows &rows) {
    constexpr std::uint64_t piece_rows = 1 << 14;
    QueryRows written(budget, full.record_words);
    for (std::uint64_t left = rows.count(); left > 0;) {
        std::uint64_t some;
        written.add_some(left, &some);
        left -= some;
    }
    const Window functions(budget, workers, query, window, layout, full, rows, &written);
    workers.for_pieces(rows.count(), piece_rows, [&](std::uint64_t first, std::uint64_t end) {
        functions.write_partitions(first, end);
    });
    return written;
}

}  // namespace gpu_engine::host
