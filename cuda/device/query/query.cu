// A query's nodes, one after the other. A scan and the computations behind it are one pipeline with what
// needs all rows; what comes out of that is a table, which the next pipeline reads.
#include "device/query/query.h"

#include <algorithm>

#include "common/query/plan.h"
#include "device/column/select/target.h"
#include "device/cub_calls.cuh"
#include "device/query/kept_map.h"
#include "device/query/plain.cuh"
#include "device/query/operators.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::query::on_device {
namespace {

struct RecordColumn {
    const std::uint64_t *values;
    const std::uint64_t *nulls;
    std::uint32_t words;
    std::uint32_t at;  // word of the record
};

__global__ void make_records_kernel(const RecordColumn *columns, std::uint32_t column_count,
                                    std::uint64_t rows, std::uint32_t null_words, std::uint32_t words,
                                    std::uint64_t *records) {
    const std::uint64_t row = plain_index();
    if (row >= rows) {
        return;
    }
    std::uint64_t *record = records + row * words;
    for (std::uint32_t word = 0; word < null_words; ++word) {
        record[word] = 0;
    }
    for (std::uint32_t i = 0; i < column_count; ++i) {
        const RecordColumn column = columns[i];
        if (column.nulls != nullptr && (column.nulls[row / 64] >> (row % 64) & 1) != 0) {
            record[i / 64] |= std::uint64_t(1) << (i % 64);
        }
        for (std::uint32_t word = 0; word < column.words; ++word) {
            record[column.at + word] = column.values[row * column.words + word];
        }
    }
}

// The result in device memory.
class DeviceResult final : public QueryResult {
  public:
    explicit DeviceResult(device::DeviceEngine &engine) : engine_(engine) {}

    QueryOutcome outcome() const noexcept override { return outcome_; }
    std::uint64_t rows() const noexcept override { return rows_; }
    std::uint32_t record_words() const noexcept override { return record_words_; }
    std::uint64_t unresolved() const noexcept override { return tids_.size(); }
    std::uint32_t unresolved_table() const noexcept override { return unresolved_table_; }

    Status read_rows(Stream &stream, std::uint64_t first, std::uint64_t count,
                     std::uint64_t *records) const noexcept override {
        return read(stream, records_, rows_, record_words_, first, count, records);
    }
    Status read_unresolved(Stream &stream, std::uint64_t first, std::uint64_t count,
                           Tid *tids) const noexcept override {
        return read(stream, tids_, tids_.size(), 1, first, count, tids);
    }

    // What the answer keeps outlives the call's stream.
    void take_rows(Buffer<std::uint64_t> records, std::uint64_t rows) {
        records_ = std::move(records);
        records_.set_stream(engine_.release_stream());
        rows_ = rows;
    }
    void take_unresolved(Buffer<Tid> tids, std::uint32_t table) {
        unresolved_table_ = table;
        tids_ = std::move(tids);
        tids_.set_stream(engine_.release_stream());
        outcome_ = QueryOutcome::unresolved;
    }
    void set_outcome(QueryOutcome outcome) { outcome_ = outcome; }
    void set_record_words(std::uint32_t words) { record_words_ = words; }

  private:
    template <typename Element>
    Status read(Stream &stream, const Buffer<Element> &from, std::uint64_t there, std::uint64_t words,
                std::uint64_t first, std::uint64_t count, Element *to) const noexcept {
        return guarded([&] {
            if (first > there || count > there - first) {
                return make_status(StatusCode::invalid_argument, "there are no such rows");
            }
            const Call call(engine_, stream);
            call.copy(to, static_cast<const Element *>(from.data()) + first * words, count * words);
            call.wait();
            return Status{};
        });
    }

    device::DeviceEngine &engine_;
    QueryOutcome outcome_ = QueryOutcome::answered;
    std::uint64_t rows_ = 0;
    std::uint32_t record_words_ = 0;
    std::uint32_t unresolved_table_ = 0;
    Buffer<std::uint64_t> records_;
    Buffer<Tid> tids_;
};

// Thrown where rows are found that nobody knows to be visible.
struct RowsUnresolved {
    Buffer<Tid> tids;
    std::uint32_t table;
};

std::uint32_t record_words_of(const Table &table) {
    std::uint32_t words = null_words(static_cast<std::uint32_t>(table.columns.size()));
    for (const Table::Column &column : table.columns) {
        words += words_of(column.type);
    }
    return words;
}

class Execution {
  public:
    Execution(const Call &call, const Query &query) : call_(call), query_(query), data_(call, query) {}

    Table table_of(std::uint32_t number) const {
        const Node &node = query_.nodes[number];
        if (node.kind == NodeKind::sort) {
            return sort(call_, query_, node, table_of(node.input));
        }
        if (node.kind == NodeKind::window) {
            return add_functions(call_, query_, node, table_of(node.input));
        }
        if (node.kind == NodeKind::aggregate) {
            const Pipeline pipeline = open(node.input);
            return aggregate(call_, query_, data_, node, *pipeline.composer, pipeline.sources);
        }
        if (is_limited(node)) {
            const Pipeline pipeline = open(node.input);
            pipeline.composer->add(query_, node);
            return list_rows(call_, data_, *pipeline.composer, pipeline.sources, node.limit);
        }
        const Pipeline pipeline = open(number);
        return list_rows(call_, data_, *pipeline.composer, pipeline.sources, UINT64_MAX);
    }

  private:
    // Rows that a node gives one by one: where they come from, and what is computed of them.
    struct Pipeline {
        std::vector<std::unique_ptr<Table>> tables;  // which sources and joins read
        std::vector<std::unique_ptr<JoinTable>> joins;
        std::deque<RowSource> sources;
        std::unique_ptr<Composer> composer;
    };

    static bool is_limited(const Node &node) {
        return node.kind == NodeKind::compute && node.limit != UINT64_MAX;
    }

    Pipeline open(std::uint32_t number) const {
        const Node &node = query_.nodes[number];
        if (node.kind == NodeKind::join) {
            return open_join(node);
        }
        if (node.kind == NodeKind::compute && !is_limited(node)) {
            Pipeline pipeline = open(node.input);
            pipeline.composer->add(query_, node);
            return pipeline;
        }
        Pipeline pipeline;
        if (node.kind == NodeKind::scan) {
            open_sources(node, &pipeline.sources);
            const ValueType *types = query_.types + node.types.first;
            begin_composer(&pipeline, {types, types + node.types.count});
        } else {
            pipeline.tables.push_back(std::make_unique<Table>(table_of(number)));
            pipeline.sources.emplace_back(call_, *pipeline.tables[0]);
            begin_composer(&pipeline, types_of(*pipeline.tables[0]));
        }
        return pipeline;
    }

    static void begin_composer(Pipeline *pipeline, const std::vector<ValueType> &types) {
        pipeline->composer = std::make_unique<Composer>(columns_of(pipeline->sources, types));
    }

    Pipeline open_join(const Node &node) const {
        auto build = std::make_unique<Table>(table_of(node.build));
        std::vector<std::uint32_t> keys;
        for (std::uint32_t k = 1; k < node.join_keys.count; k += 2) {
            keys.push_back(query_.outputs[node.join_keys.first + k]);
        }
        auto table = std::make_unique<JoinTable>(call_, *build, keys);
        Pipeline pipeline = open(node.input);
        if (can_probe(query_, node, table->side())) {
            pipeline.composer->add_join(query_, node, table->side());
            pipeline.tables.push_back(std::move(build));
            pipeline.joins.push_back(std::move(table));
            return pipeline;
        }
        // Rows without a match needn't be listed where nothing is given of them.
        if (!keys.empty() && (gives_build(node.join) || node.join == JoinKind::semi) &&
            !keeps_probed(node.join)) {
            pipeline.composer->keep_matching(query_, node, table->side());
        }
        auto probed = std::make_unique<Table>(
            list_rows(call_, data_, *pipeline.composer, pipeline.sources, UINT64_MAX));
        pipeline = {};
        pipeline.sources = join_rows(call_, query_, data_, node, *probed, *build, *table);
        begin_composer(&pipeline, joined_types(*probed, *build));
        pipeline.composer->choose_columns(query_, node);
        pipeline.tables.push_back(std::move(probed));
        pipeline.tables.push_back(std::move(build));
        pipeline.joins.push_back(std::move(table));
        return pipeline;
    }

    void open_sources(const Node &scan, std::deque<RowSource> *sources) const {
        for (std::uint32_t i = 0; i < scan.runs.count; ++i) {
            sources->emplace_back(call_, query_, scan, query_.runs[scan.runs.first + i]);
        }
        settle_visibility(scan, *sources);
        for (std::uint32_t i = 0; i < scan.inputs.count; ++i) {
            sources->emplace_back(call_, query_, scan, query_.inputs[scan.inputs.first + i]);
        }
    }

    void settle_visibility(const Node &scan, std::deque<RowSource> &sources) const {
        std::vector<std::uint64_t> counts(sources.size());
        if (!split_unknown(scan, sources, &counts)) {
            return;
        }
        // Rows of one table are enough.
        std::size_t first = 0;
        while (counts[first] == 0) {
            ++first;
        }
        const std::uint32_t table = table_number(scan, query_.runs[scan.runs.first + first]);
        std::size_t end = first;
        std::uint64_t all = 0;
        while (end < sources.size() && table_number(scan, query_.runs[scan.runs.first + end]) == table) {
            all += counts[end++];
        }
        RowsUnresolved unresolved = {call_.buffer<Tid>(all), table};
        Tid *to = unresolved.tids.data();
        for (std::size_t i = first; i < end; ++i) {
            if (counts[i] > 0) {
                device::list_tids(call_, sources[i].parts(), sources[i].unknown(), counts[i], to);
                to += counts[i];
            }
        }
        throw unresolved;
    }

    // Returns whether any of the runs has rows on unknown blocks; *counts, by run, are how many.
    bool split_unknown(const Node &scan, std::deque<RowSource> &sources,
                       std::vector<std::uint64_t> *counts) const {
        if (sources.empty()) {
            return false;
        }
        const Buffer<std::uint64_t> found = call_.buffer<std::uint64_t>(sources.size());
        bool is_any_split = false;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const std::uint32_t table = table_number(scan, query_.runs[scan.runs.first + i]);
            if (table == no_table || query_.blocks[table] == nullptr) {
                continue;
            }
            if (!is_any_split) {
                call_.fill(found.data(), 0, sources.size() * sizeof(std::uint64_t));
                is_any_split = true;
            }
            sources[i].split_unknown(call_, device::known_of(*query_.blocks[table]), found.data() + i);
        }
        if (!is_any_split) {
            return false;
        }
        call_.read(counts->data(), found.data(), counts->size());
        return std::any_of(counts->begin(), counts->end(), [](std::uint64_t count) { return count > 0; });
    }

    const Call &call_;
    const Query &query_;
    const QueryData data_;
};

std::unique_ptr<QueryResult> run_query(const Call &call, const Query &query) {
    auto result = std::make_unique<DeviceResult>(call.engine());
    try {
        const Table table = Execution(call, query).table_of(query.node_count - 1);
        result->set_record_words(record_words_of(table));
        if (table.rows > query.max_rows) {
            result->set_outcome(QueryOutcome::too_many_rows);
        } else {
            Buffer<std::uint64_t> records = make_records(call, table);
            call.wait();
            result->take_rows(std::move(records), table.rows);
        }
    } catch (const StepFailed &) {
        result->set_outcome(QueryOutcome::failed);
    } catch (RowsUnresolved &unresolved) {
        result->take_unresolved(std::move(unresolved.tids), unresolved.table);
    }
    return result;
}

}  // namespace

Buffer<std::uint64_t> make_records(const Call &call, const Table &table) {
    const std::uint32_t words = record_words_of(table);
    Buffer<std::uint64_t> records = call.buffer<std::uint64_t>(table.rows * words);
    if (table.rows == 0) {
        return records;
    }
    std::vector<RecordColumn> columns;
    const std::uint32_t bits_at = null_words(static_cast<std::uint32_t>(table.columns.size()));
    std::uint32_t at = bits_at;
    for (const Table::Column &column : table.columns) {
        columns.push_back({column.values.data(), column.nulls.size() > 0 ? column.nulls.data() : nullptr,
                           words_of(column.type), at});
        at += words_of(column.type);
    }
    const Buffer<RecordColumn> views = upload(call, columns);
    make_records_kernel<<<plain_blocks(table.rows), plain_threads, 0, call.stream()>>>(
        views.data(), static_cast<std::uint32_t>(columns.size()), table.rows, bits_at, words, records.data());
    device::check_launch("make_records_kernel");
    return records;
}

}  // namespace gpu_engine::query::on_device

namespace gpu_engine::device {

Status DeviceQueries::keep_map(Stream &stream, const query::MapValues &values,
                               std::shared_ptr<const query::KeptMap> *kept) noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        *kept = std::make_shared<const query::on_device::DeviceKeptMap>(call, values);
        return Status{};
    });
}

Status DeviceQueries::run(Stream &stream, const query::Query &query,
                          std::unique_ptr<query::QueryResult> *result) noexcept {
    return guarded([&] {
        const char *problem = query::find_problem(query);
        if (problem != nullptr) {
            return make_status(StatusCode::invalid_argument, problem);
        }
        if (query::needs_processors(query)) {
            return make_status(StatusCode::unavailable, "no device computes a function of floats");
        }
        const Call call(engine_, stream);
        *result = query::on_device::run_query(call, query);
        return Status{};
    });
}

}  // namespace gpu_engine::device
