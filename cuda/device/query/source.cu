#include "device/query/source.h"

#include <algorithm>

#include "common/query/decimals.h"
#include "device/query/kept_map.h"

namespace gpu_engine::query::on_device {
namespace {

std::uint64_t bit_words(std::uint64_t bits) {
    return (bits + 63) / 64;
}

ColumnView view_of_array(const Table::Column &column) {
    const ArrayColumn array = array_of(column);
    ColumnView view = {};
    view.reading = Reading::array;
    view.type = array.type;
    view.values = array.values;
    view.nulls = array.nulls;
    return view;
}

ColumnView view_of_picked(const Table::Column &column, const std::uint32_t *rows) {
    ColumnView view = view_of_array(column);
    view.reading = Reading::picked;
    view.rows = rows;
    return view;
}

}  // namespace

Table::Column &Table::add(const Call &call, ValueType type, bool may_be_null) {
    Column column = {type, call.buffer<std::uint64_t>(rows * words_of(type)), {}};
    if (may_be_null) {
        column.nulls = call.buffer<std::uint64_t>(bit_words(rows));
        call.fill(column.nulls.data(), 0, bit_words(rows) * sizeof(std::uint64_t));
    }
    columns.push_back(std::move(column));
    return columns.back();
}

const std::uint64_t *RowSource::hold(const Call &call, const std::uint64_t *words, std::uint64_t count) {
    arrays_.push_back(upload(call, words, count));
    return arrays_.back().data();
}

// Null where none of `count` rows is NULL, as then nobody has to look.
const std::uint64_t *RowSource::hold_nulls(const Call &call, const std::uint64_t *nulls,
                                           std::uint64_t count) {
    if (nulls == nullptr || count == 0) {
        return nullptr;
    }
    const std::uint64_t last = count % 64 == 0 ? UINT64_MAX : (std::uint64_t(1) << (count % 64)) - 1;
    std::uint64_t any = nulls[bit_words(count) - 1] & last;
    for (std::uint64_t word = 0; word + 1 < bit_words(count); ++word) {
        any |= nulls[word];
    }
    return any != 0 ? hold(call, nulls, bit_words(count)) : nullptr;
}

ColumnView RowSource::view_of_map(const Call &call, const RunColumn &column, const StoredColumn &stored,
                                  ColumnView view) {
    view.reading = Reading::map;
    if (column.kept != nullptr) {
        const DeviceKeptMap &kept = kept_map_of(column, words_of(view.type));
        view.places = kept.places();
        view.values = kept.values();
        view.value_nulls = kept.nulls();
    } else {
        view.places = column.places;
        view.values = hold(call, column.values, column.places * words_of(view.type));
        view.value_nulls = hold_nulls(call, column.nulls, column.places);
    }
    // Codes beyond a dictionary are damage, of which nobody can tell what it comes to.
    view.lacks_codes = stored.encoding == ColumnEncoding::dictionary
                           ? view.places < stored.distinct
                           : stored.bits >= 64 || view.places < std::uint64_t(1) << stored.bits;
    return view;
}

ColumnView RowSource::view_of(const Call &call, const RunColumn &column, ValueType type) {
    const device::StoreParts &parts = *parts_;
    if (is_of_no_column(column.form)) {
        ColumnView view = {};
        view.reading = column.form == ColumnForm::row ? Reading::row : Reading::constant;
        view.type = type;
        view.offset = column.offset;
        return view;
    }
    if (column.column >= parts.layout.columns) {
        throw Failure{make_status(StatusCode::invalid_argument, "the run has no such column")};
    }
    const StoredColumn &stored = parts.layout.column[column.column];
    ColumnView view = {};
    view.type = type;
    view.bits = stored.bits;
    view.entry_bits = stored.entry_bits;
    view.codes = parts.codes(column.column);
    view.nulls = parts.null_bits(column.column);
    view.offset = column.offset;
    UInt128 factor = 1;
    switch (column.form) {
        case ColumnForm::integer:
            view.reading = Reading::integer;
            break;
        case ColumnForm::flag:
            view.reading = Reading::flag;
            break;
        case ColumnForm::float32:
            view.reading = Reading::float32;
            break;
        case ColumnForm::float64:
            view.reading = Reading::float64;
            break;
        case ColumnForm::decimal:
            view.reading = Reading::decimal;
            factor = power_of_ten(static_cast<std::int32_t>(column.power));
            view.factor = {static_cast<std::uint64_t>(factor), static_cast<std::uint64_t>(factor >> 64)};
            break;
        case ColumnForm::map:
            return view_of_map(call, column, stored, view);
        case ColumnForm::code:
            view.reading = Reading::code;
            return view;
        case ColumnForm::constant:
        case ColumnForm::row:
            break;
    }
    view.offset += stored.base;
    view.has_dictionary = stored.encoding == ColumnEncoding::dictionary;
    if (view.has_dictionary) {
        if (stored.strings != 0) {
            throw Failure{make_status(StatusCode::invalid_argument, "a run's strings are no numbers")};
        }
        view.dictionary = parts.dictionary(column.column);
        view.entries = stored.distinct;
    }
    return view;
}

void RowSource::finish(const Call &call, const std::vector<ColumnView> &columns) {
    for (const ColumnView &column : columns) {
        may_be_null_.push_back(column.nulls != nullptr || column.value_nulls != nullptr ||
                               column.lacks_codes ||
                               (column.reading == Reading::picked && column.rows == nullptr));
    }
    columns_ = upload(call, columns);
    view_.columns = columns_.data();
}

RowSource::RowSource(const Call &call, const Query &query, const Node &scan, const RunSource &run) {
    const auto *store = dynamic_cast<const device::DeviceColumnStore *>(run.store);
    if (store == nullptr) {
        throw Failure{make_status(StatusCode::invalid_argument, "the store is another engine's")};
    }
    parts_ = &store->parts();
    std::vector<ColumnView> columns;
    for (std::uint32_t i = 0; i < scan.types.count; ++i) {
        columns.push_back(view_of(call, run.columns[i], query.types[scan.types.first + i]));
    }
    selection_ =
        device::select_rows(call, *parts_, call.keep(store->dead()), run.tests, run.test_count, &held_);
    view_.selected = selection_.words.data();
    view_.words = selection_.words.size();
    view_.rows = parts_->layout.rows;
    is_empty_ = selection_.count == 0 || view_.rows == 0;
    finish(call, columns);
}

RowSource::RowSource(const Call &call, const Query &query, const Node &scan, const InputSource &input) {
    std::vector<ColumnView> columns;
    for (std::uint32_t i = 0; i < scan.types.count; ++i) {
        ColumnView view = {};
        view.reading = Reading::array;
        view.type = query.types[scan.types.first + i];
        if (input.rows > 0) {
            view.values = hold(call, input.columns[i].values, input.rows * words_of(view.type));
            view.nulls = hold_nulls(call, input.columns[i].nulls, input.rows);
        }
        columns.push_back(view);
    }
    view_.rows = input.rows;
    is_empty_ = input.rows == 0;
    finish(call, columns);
}

RowSource::RowSource(const Call &call, const Table &table) {
    std::vector<ColumnView> columns;
    for (const Table::Column &column : table.columns) {
        columns.push_back(view_of_array(column));
    }
    view_.rows = table.rows;
    is_empty_ = table.rows == 0;
    finish(call, columns);
}

JoinedRows::JoinedRows(const Call &call, const Table &probed_table, const Table &build_table,
                       std::uint64_t pairs)
    : probed(call.buffer<std::uint32_t>(pairs)), build(call.buffer<std::uint32_t>(pairs)) {
    std::vector<ColumnView> views;
    for (const Table::Column &column : probed_table.columns) {
        views.push_back(view_of_picked(column, probed.data()));
    }
    for (const Table::Column &column : build_table.columns) {
        views.push_back(view_of_picked(column, build.data()));
    }
    for (const ColumnView &view : views) {
        may_be_null.push_back(view.nulls != nullptr);
    }
    columns = upload(call, views);
}

RowSource::RowSource(std::shared_ptr<const JoinedRows> joined, std::uint64_t count,
                     std::function<void()> list)
    : joined_(std::move(joined)), list_(std::move(list)), may_be_null_(joined_->may_be_null) {
    view_.columns = joined_->columns.data();
    view_.rows = count;
    is_empty_ = count == 0;
}

RowSource::RowSource(const Call &call, const Table &probed, const Table &build, JoinSide side,
                     Buffer<std::uint64_t> selected) {
    std::vector<ColumnView> columns;
    for (const Table::Column &column : probed.columns) {
        columns.push_back(side == JoinSide::probed ? view_of_array(column) : view_of_picked(column, nullptr));
    }
    for (const Table::Column &column : build.columns) {
        columns.push_back(side == JoinSide::build ? view_of_array(column) : view_of_picked(column, nullptr));
    }
    selection_.words = std::move(selected);
    view_.selected = selection_.words.data();
    view_.words = selection_.words.size();
    view_.rows = side == JoinSide::probed ? probed.rows : build.rows;
    is_empty_ = view_.rows == 0;
    finish(call, columns);
}

void RowSource::split_unknown(const Call &call, const KnownBlocks &known, std::uint64_t *found) {
    if (!is_empty_) {
        unknown_ = device::split_unresolved(call, *parts_, known, nullptr, selection_, found, &held_);
    }
}

std::vector<SourceColumn> columns_of(const std::deque<RowSource> &sources,
                                     const std::vector<ValueType> &types) {
    std::vector<SourceColumn> columns;
    for (std::size_t i = 0; i < types.size(); ++i) {
        columns.push_back(
            {types[i], std::any_of(sources.begin(), sources.end(),
                                   [&](const RowSource &source) { return source.may_be_null(i); })});
    }
    return columns;
}

std::vector<ValueType> types_of(const Table &table) {
    std::vector<ValueType> types;
    for (const Table::Column &column : table.columns) {
        types.push_back(column.type);
    }
    return types;
}

std::vector<ValueType> joined_types(const Table &probed, const Table &build) {
    std::vector<ValueType> types = types_of(probed);
    const std::vector<ValueType> more = types_of(build);
    types.insert(types.end(), more.begin(), more.end());
    return types;
}

}  // namespace gpu_engine::query::on_device
