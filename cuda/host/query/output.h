// Answers of the host engine's queries.
#pragma once

#include <cstring>

#include "gpu_engine/guard.h"
#include "host/query/rows.h"

namespace gpu_engine::host {

class HostQueryResult final : public query::QueryResult {
  public:
    explicit HostQueryResult(std::uint32_t record_words) : record_words_(record_words) {}

    query::QueryOutcome outcome() const noexcept override { return outcome_; }
    std::uint64_t rows() const noexcept override { return rows_.count(); }
    std::uint32_t record_words() const noexcept override { return record_words_; }
    std::uint64_t unresolved() const noexcept override { return unresolved_.count(); }
    std::uint32_t unresolved_table() const noexcept override { return unresolved_table_; }

    Status read_rows(Stream &stream, std::uint64_t first, std::uint64_t count,
                     std::uint64_t *records) const noexcept override {
        return guarded([&] {
            return read(stream, rows_, first, count, [&](const std::uint64_t *record, std::uint64_t some) {
                records = std::copy_n(record, some * record_words_, records);
            });
        });
    }
    Status read_unresolved(Stream &stream, std::uint64_t first, std::uint64_t count,
                           Tid *tids) const noexcept override {
        return guarded([&] {
            return read(stream, unresolved_, first, count,
                        [&](const std::uint64_t *words, std::uint64_t some) {
                            for (std::uint64_t i = 0; i < some; ++i) {
                                std::memcpy(tids++, words + i, sizeof(Tid));
                            }
                        });
        });
    }

    void give_rows(RowParts rows) { rows_ = std::move(rows); }
    void give_unresolved(RowParts tids, std::uint32_t table) {
        unresolved_ = std::move(tids);
        unresolved_table_ = table;
    }
    void set_outcome(query::QueryOutcome outcome) noexcept { outcome_ = outcome; }

  private:
    template <typename Visit>
    static Status read(Stream &stream, const RowParts &rows, std::uint64_t first, std::uint64_t count,
                       Visit visit) {
        check_cancelled(stream);
        if (first > rows.count() || count > rows.count() - first) {
            return make_status(StatusCode::invalid_argument, "the answer has no such rows");
        }
        for (const QueryRows &part : rows.parts) {
            if (first < part.count()) {
                const std::uint64_t here = std::min(count, part.count() - first);
                part.for_spans(first, first + here, here, visit);
                count -= here;
            }
            first -= std::min(first, part.count());
        }
        return {};
    }

    query::QueryOutcome outcome_ = query::QueryOutcome::answered;
    std::uint32_t record_words_;
    RowParts rows_;
    RowParts unresolved_;
    std::uint32_t unresolved_table_ = 0;
};

}  // namespace gpu_engine::host
