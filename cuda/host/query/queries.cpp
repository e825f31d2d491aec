#include "host/query/queries.h"

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/heap_blocks.h"
#include "host/query/kept_map.h"
#include "host/query/output.h"
#include "host/query/stage.h"

namespace gpu_engine::host {

using query::NodeKind;
using query::QueryOutcome;

namespace {

class QueryRun {
  public:
    QueryRun(HostEngine &engine, const Workers &workers, const query::Query &query)
        : engine_(engine), workers_(workers), query_(query), tables_(query.node_count) {}

    std::unique_ptr<query::QueryResult> result() {
        auto result = std::make_unique<HostQueryResult>(
            query::RecordLayout(query::column_types(query_, query_.node_count - 1)).record_words);
        RowParts rows = run_to(query_.node_count - 1);
        if (state_.is_unresolved) {
            result->set_outcome(QueryOutcome::unresolved);
            result->give_unresolved(std::move(unresolved_), unresolved_table_);
        } else if (state_.has_failed || state_.is_full) {
            result->set_outcome(state_.has_failed ? QueryOutcome::failed : QueryOutcome::too_many_rows);
        } else {
            result->give_rows(std::move(rows));
        }
        return result;
    }

  private:
    // Rows of a node that a stage reads: those of a scan, or the result of the stage before.
    struct Source {
        std::uint32_t node;
        RowParts rows;
    };

    // The rows of a node, if nothing has stopped the query. The build sides of the joins on the way come
    // first.
    RowParts run_to(std::uint32_t last) {
        const std::vector<std::uint32_t> path = query::path_of(query_, last);
        for (const std::uint32_t node : path) {
            if (query_.nodes[node].kind == NodeKind::join) {
                const RowParts rows = run_to(query_.nodes[node].build);
                if (state_.stopped()) {
                    return {};
                }
                tables_[node] =
                    std::make_unique<JoinTable>(engine_.memory(), workers_, query_, query_.nodes[node], rows);
            }
        }
        Source source = {path[0], {}};
        for (std::size_t place = 1; !state_.stopped();) {
            std::vector<std::uint32_t> nodes;
            while (place < path.size()) {
                nodes.push_back(path[place++]);
                const NodeKind kind = query_.nodes[nodes.back()].kind;
                if (kind != NodeKind::compute && kind != NodeKind::join) {
                    break;
                }
            }
            source.rows = run_stage(source, nodes, place == path.size() && last == query_.node_count - 1);
            if (!nodes.empty()) {
                source.node = nodes.back();
            }
            for (const std::uint32_t node : nodes) {
                tables_[node].reset();
            }
            if (place == path.size()) {
                break;
            }
        }
        return std::move(source.rows);
    }

    RowParts run_stage(const Source &source, const std::vector<std::uint32_t> &nodes, bool is_last) {
        std::vector<query::SumScale> scales;
        for (int round = 0;; ++round) {
            Stage stage(engine_, workers_, query_, tables_, source.node, nodes, is_last, scales, &state_);
            const std::uint32_t last_table = add_sources(source, &stage);
            RowParts rows = stage.finish();
            if (state_.is_unresolved) {
                unresolved_ = stage.take_unresolved();
                unresolved_table_ = last_table;
            }
            if (!stage.misfits() || state_.stopped()) {
                return rows;
            }
            if (round > 0) {
                throw Failure{make_status(StatusCode::internal, "a sum of floats found no room")};
            }
            scales = find_scales(source, nodes);
        }
    }

    std::vector<query::SumScale> find_scales(const Source &source, const std::vector<std::uint32_t> &nodes) {
        Stage stage(engine_, workers_, query_, tables_, source.node, nodes, false, {}, &state_);
        stage.only_find_spans();
        add_sources(source, &stage);
        return stage.needed_scales();
    }

    // Returns the table of the last runs: unresolved rows of one are enough, and are all of that.
    std::uint32_t add_sources(const Source &source, Stage *stage) const {
        const query::Node &node = query_.nodes[source.node];
        std::uint32_t table = query::no_table;
        if (node.kind != NodeKind::scan) {
            stage->add_rows(source.rows, query::RecordLayout(query::column_types(query_, source.node)));
        } else {
            for (std::uint32_t i = 0; i < node.runs.count; ++i) {
                const query::RunSource &run = query_.runs[node.runs.first + i];
                const std::uint32_t own = query::table_number(node, run);
                if (own != table && state_.is_unresolved) {
                    break;
                }
                table = own;
                const HeapBlocks *blocks = table == query::no_table ? nullptr : query_.blocks[table];
                stage->add_run(run, blocks == nullptr ? nullptr : &known_of(*blocks));
            }
            for (std::uint32_t i = 0; i < node.inputs.count; ++i) {
                stage->add_input(query_.inputs[node.inputs.first + i]);
            }
        }
        stage->add_unmatched();
        return table;
    }

    HostEngine &engine_;
    const Workers &workers_;
    const query::Query &query_;
    Stage::JoinTables tables_;
    RunState state_;
    RowParts unresolved_;
    std::uint32_t unresolved_table_ = 0;
};

}  // namespace

Status HostQueries::keep_map(Stream &stream, const query::MapValues &values,
                             std::shared_ptr<const query::KeptMap> *kept) noexcept {
    return guarded([&] {
        check_cancelled(stream);
        *kept = std::make_shared<const HostKeptMap>(engine_.memory(), values);
        return Status{};
    });
}

Status HostQueries::run(Stream &stream, const query::Query &query,
                        std::unique_ptr<query::QueryResult> *result) noexcept {
    return guarded([&] {
        check_cancelled(stream);
        if (const char *problem = query::find_problem(query); problem != nullptr) {
            return make_status(StatusCode::invalid_argument, problem);
        }
        *result = QueryRun(engine_, engine_.workers(stream), query).result();
        return Status{};
    });
}

}  // namespace gpu_engine::host
