#include "host/query/queries.h"

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/heap_blocks.h"
#include "host/query/output.h"
#include "host/query/stage.h"

namespace gpu_engine::host {

using query::NodeKind;
using query::QueryOutcome;

namespace {

class QueryRun {
  public:
    QueryRun(HostEngine &engine, const Workers &workers, const query::Query &query)
        : engine_(engine),
          workers_(workers),
          query_(query),
          path_(query::path_of(query, query.node_count - 1)) {}

    std::unique_ptr<query::QueryResult> result() {
        auto result = std::make_unique<HostQueryResult>(
            query::RecordLayout(query::column_types(query_, query_.node_count - 1)).record_words);
        for (std::size_t place = 1; !state_.stopped();) {
            std::vector<std::uint32_t> nodes;
            while (place < path_.size()) {
                nodes.push_back(path_[place++]);
                if (query_.nodes[nodes.back()].kind != NodeKind::compute) {
                    break;
                }
            }
            run_stage(nodes, place == path_.size());
            if (place == path_.size()) {
                break;
            }
        }
        if (state_.is_unresolved) {
            result->set_outcome(QueryOutcome::unresolved);
            result->give_unresolved(std::move(unresolved_), query_.nodes[path_[0]].table);
        } else if (state_.has_failed || state_.is_full) {
            result->set_outcome(state_.has_failed ? QueryOutcome::failed : QueryOutcome::too_many_rows);
        } else {
            result->give_rows(std::move(rows_));
        }
        return result;
    }

  private:
    void run_stage(const std::vector<std::uint32_t> &nodes, bool is_last) {
        std::vector<query::SumScale> scales;
        for (int round = 0;; ++round) {
            Stage stage(engine_, workers_, query_, input_, nodes, is_last, scales, &state_);
            add_sources(&stage);
            RowParts rows = stage.finish();
            if (is_first_) {
                unresolved_ = stage.take_unresolved();
            }
            if (!stage.misfits() || state_.stopped()) {
                rows_ = std::move(rows);
                break;
            }
            if (round > 0) {
                throw Failure{make_status(StatusCode::internal, "a sum of floats found no room")};
            }
            scales = find_scales(nodes);
        }
        input_ = nodes.empty() ? input_ : nodes.back();
        is_first_ = false;
    }

    std::vector<query::SumScale> find_scales(const std::vector<std::uint32_t> &nodes) {
        Stage stage(engine_, workers_, query_, input_, nodes, false, {}, &state_);
        stage.only_find_spans();
        add_sources(&stage);
        return stage.needed_scales();
    }

    void add_sources(Stage *stage) {
        if (!is_first_) {
            stage->add_rows(rows_, query::RecordLayout(query::column_types(query_, input_)));
            return;
        }
        const query::Node &scan = query_.nodes[input_];
        const HeapBlocks *blocks = scan.table == query::no_table ? nullptr : query_.blocks[scan.table];
        const KnownBlocks *known = blocks == nullptr ? nullptr : &known_of(*blocks);
        for (std::uint32_t i = 0; i < scan.runs.count; ++i) {
            stage->add_run(query_.runs[scan.runs.first + i], known);
        }
        for (std::uint32_t i = 0; i < scan.inputs.count; ++i) {
            stage->add_input(query_.inputs[scan.inputs.first + i]);
        }
    }

    HostEngine &engine_;
    const Workers &workers_;
    const query::Query &query_;
    std::vector<std::uint32_t> path_;
    RunState state_;
    bool is_first_ = true;
    std::uint32_t input_ = path_[0];
    RowParts rows_;
    RowParts unresolved_;
};

}  // namespace

Status HostQueries::run(Stream &stream, const query::Query &query,
                        std::unique_ptr<query::QueryResult> *result) noexcept {
    return guarded([&] {
        check_cancelled(stream);
        if (const char *problem = query::find_problem(query); problem != nullptr) {
            return make_status(StatusCode::invalid_argument, problem);
        }
        for (std::uint32_t i = 0; i < query.node_count; ++i) {
            if (query.nodes[i].kind == NodeKind::join) {
                return make_status(StatusCode::invalid_argument, "no rows are joined yet");
            }
        }
        *result = QueryRun(engine_, engine_.workers(stream), query).result();
        return Status{};
    });
}

}  // namespace gpu_engine::host
