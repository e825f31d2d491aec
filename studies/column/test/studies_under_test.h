// The studies on each engine.
#pragma once

#include <memory>

#include "studies/column/studies.h"
#include "engine_under_test.h"

class StudiesTest : public EngineTest {
  protected:
    template <typename UnderTest>
    void open() {
        EngineTest::open<UnderTest>();
        if (engine_ != nullptr) {
            studies_ = gpu_engine::open_column_studies(*engine_);
        }
    }

    std::unique_ptr<gpu_engine::ColumnStudies> studies_;
};
