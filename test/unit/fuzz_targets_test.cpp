// The fuzzers' targets on random bytes of a fixed seed: what they find quickly, and that they compile.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "../fuzz/targets.h"

namespace {

using Target = void (*)(const std::uint8_t *data, std::size_t size);

struct NamedTarget {
    const char *name;
    Target run;
};

class FuzzTargets : public testing::TestWithParam<NamedTarget> {};

TEST_P(FuzzTargets, TakeRandomBytes) {
    std::mt19937_64 random(20261121);
    std::vector<std::uint8_t> input;
    for (int i = 0; i < 10000; ++i) {
        input.resize(random() % (i % 10 == 0 ? 4096 : 200));
        // Small numbers and zeros come further than others.
        const std::uint64_t kind = random() % 3;
        for (std::uint8_t &byte : input) {
            byte = static_cast<std::uint8_t>(kind == 0 ? random() : random() % 4 == 0 ? random() % 40 : 0);
        }
        GetParam().run(input.data(), input.size());
    }
}

INSTANTIATE_TEST_SUITE_P(Server, FuzzTargets,
                         testing::Values(NamedTarget{"protocol", fuzz::protocol},
                                         NamedTarget{"grid_pages", fuzz::grid_pages},
                                         NamedTarget{"column_pages", fuzz::column_pages},
                                         NamedTarget{"text_pages", fuzz::text_pages},
                                         NamedTarget{"postings", fuzz::postings}),
                         [](const auto &test) { return std::string(test.param.name); });

}  // namespace
