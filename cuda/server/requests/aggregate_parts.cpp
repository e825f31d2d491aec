#include "server/requests/aggregate_parts.h"

#include <bit>

namespace gpu_engine::server {
namespace {

using Marks = std::uint64_t[key_mark_words];

std::uint32_t count_marks(const Marks &marks) {
    std::uint32_t count = 0;
    for (const std::uint64_t word : marks) {
        count += static_cast<std::uint32_t>(std::popcount(word));
    }
    return count;
}

// Marks the spans that more than one part has.
void mark_shared(const std::vector<PartOfResult> &parts, std::uint32_t key, Marks &shared) {
    Marks any = {};
    for (const PartOfResult &part : parts) {
        const Marks &own = part.marks()->of_key[key];
        for (std::uint32_t word = 0; word < key_mark_words; ++word) {
            shared[word] |= any[word] & own[word];
            any[word] |= own[word];
        }
    }
}

// About how many groups are in marked spans, if all of a part's have as many.
double expect_shared(const std::vector<PartOfResult> &parts, std::uint32_t key, const Marks &shared) {
    double expected = 0;
    for (const PartOfResult &part : parts) {
        const Marks &own = part.marks()->of_key[key];
        Marks both;
        for (std::uint32_t word = 0; word < key_mark_words; ++word) {
            both[word] = own[word] & shared[word];
        }
        expected += static_cast<double>(part.result()->groups()) * count_marks(both) /
                    std::max<std::uint32_t>(count_marks(own), 1);
    }
    return expected;
}

}  // namespace

void PartOfResult::mark_read(const AggregateProgram &program) {
    if (!is_read() || marks_ != nullptr || result_->outcome() != AggregateOutcome::answered ||
        unresolved_count_ > 0) {
        return;
    }
    marks_ = std::make_unique<KeyMarks>();
    const std::uint64_t words = program.key_words + std::uint64_t(program.value_words);
    for (std::uint64_t i = 0; i < group_count_; ++i) {
        for (std::uint32_t key = 0; key < program.key_count; ++key) {
            const std::uint32_t span = key_span(program.key[key], groups_->data() + i * words);
            marks_->of_key[key][span / 64] |= std::uint64_t(1) << span % 64;
        }
    }
}

std::optional<SharedKeys> find_shared_keys(const AggregateProgram &program,
                                           std::vector<PartOfResult> &parts) {
    double all = 0;
    for (PartOfResult &part : parts) {
        part.mark_read(program);
        if (part.marks() == nullptr) {
            return std::nullopt;
        }
        all += static_cast<double>(part.result()->groups());
    }
    // Another round is worthwhile only if it leaves out half of the groups.
    double least = all / 2;
    std::optional<SharedKeys> best;
    for (std::uint32_t key = 0; key < program.key_count; ++key) {
        SharedKeys shared = {key, {}, {}};
        mark_shared(parts, key, shared.marks);
        const double expected = expect_shared(parts, key, shared.marks);
        if (expected < least) {
            least = expected;
            best = shared;
        }
    }
    return best;
}

}  // namespace gpu_engine::server
