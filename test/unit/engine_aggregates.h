// The fixture of tests of groups: runs in an engine, and requests about them.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "aggregate_reference.h"
#include "column_run.h"
#include "engine_under_test.h"

namespace aggregate_test {

class AggregateEngineTest : public EngineTest {
  protected:
    std::unique_ptr<gpu_engine::ColumnStore> load(const column_test::Pages &pages) {
        std::unique_ptr<gpu_engine::ColumnLoader> loader;
        std::unique_ptr<gpu_engine::ColumnStore> store;
        gpu_engine::Status status = engine_->column().open_loader(*stream_, pages.layout, &loader);
        if (status.ok()) {
            status = loader->append_pages(*stream_, pages.images.data(),
                                          static_cast<std::uint32_t>(pages.count()));
        }
        if (status.ok()) {
            status = loader->finish(*stream_, &store);
        }
        EXPECT_TRUE(status.ok()) << status.message;
        return store;
    }

    // Runs with their stores; some of the rows of the later ones are dead.
    std::vector<std::unique_ptr<gpu_engine::ColumnStore>> make_runs(const std::vector<std::size_t> &rows,
                                                                    std::vector<TestRun> *runs,
                                                                    bool with_nulls) {
        std::vector<std::unique_ptr<gpu_engine::ColumnStore>> stores;
        for (const std::size_t count : rows) {
            TestRun run;
            run.run = column_test::make_run(count, random_, with_nulls);
            run.pages = column_test::make_pages(run.run);
            stores.push_back(load(run.pages));
            if (stores.size() > 1 || random_() % 2 == 0) {
                const std::vector<std::uint64_t> dead = column_test::kill_some(&run.run, random_);
                EXPECT_TRUE(stores.back()->set_dead(*stream_, dead.data(), 1).ok());
            }
            run.find_codes();
            runs->push_back(std::move(run));
        }
        return stores;
    }

    gpu_engine::Status call(const std::vector<std::unique_ptr<gpu_engine::ColumnStore>> &stores,
                            const TestRequest &request, const gpu_engine::HeapBlocks *blocks,
                            std::uint64_t most, std::unique_ptr<gpu_engine::AggregateOutput> *output,
                            const gpu_engine::AggregateTop &top = {}) {
        std::vector<gpu_engine::AggregatePart> parts;
        for (std::size_t i = 0; i < stores.size(); ++i) {
            parts.push_back({stores[i].get(), request.tests.data(),
                             static_cast<std::uint32_t>(request.tests.size()), 0,
                             request.inputs[i].views.data()});
        }
        const gpu_engine::AggregateRequest requested = {
            &request.program, parts.data(), static_cast<std::uint32_t>(parts.size()), 0, blocks, most, top};
        return engine_->column().aggregate(*stream_, requested, output);
    }

    std::vector<std::vector<std::uint64_t>> read_unresolved(const gpu_engine::AggregateOutput &output,
                                                            const gpu_engine::AggregateProgram &program) {
        const std::uint32_t words = program.key_words + program.value_words + 1;
        std::vector<std::uint64_t> records(output.unresolved() * words);
        EXPECT_TRUE(output.read_unresolved(*stream_, 0, output.unresolved(), records.data()).ok());
        std::vector<std::vector<std::uint64_t>> rows;
        for (std::size_t i = 0; i < output.unresolved(); ++i) {
            rows.emplace_back(records.begin() + static_cast<std::ptrdiff_t>(i * words),
                              records.begin() + static_cast<std::ptrdiff_t>((i + 1) * words));
        }
        std::sort(rows.begin(), rows.end());
        return rows;
    }
};

}  // namespace aggregate_test
