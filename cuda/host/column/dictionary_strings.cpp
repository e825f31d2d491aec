// Dictionaries of byte strings on the processor.
#include <algorithm>
#include <string_view>

#include "gpu_engine/guard.h"
#include "host/buffer.h"
#include "host/column/dictionary_merge.h"
#include "host/engine.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t strings_a_piece = 1 << 14;
constexpr std::uint32_t of_delta = 1U << 31;

// A caller's strings, with offsets of our own that are known to be sound.
struct Strings {
    Buffer<std::uint64_t> offsets;
    const char *bytes = nullptr;

    Strings(MemoryBudget &budget, const StringDictionary &strings)
        : offsets(budget, strings.count + 1), bytes(reinterpret_cast<const char *>(strings.bytes)) {
        offsets[0] = 0;
        if (strings.count > 0) {
            std::copy_n(strings.offsets, strings.count + 1, offsets.data());
        }
        if (offsets[0] != 0 || !std::is_sorted(offsets.data(), offsets.data() + strings.count + 1)) {
            throw Failure{make_status(StatusCode::invalid_argument,
                                      "the offsets of a dictionary's strings don't ascend")};
        }
    }
    std::uint64_t size() const { return offsets[offsets.size() - 1]; }
    // Compared by bytes as unsigned numbers, the shorter first.
    std::string_view at(std::uint64_t i) const { return {bytes + offsets[i], offsets[i + 1] - offsets[i]}; }
};

struct StringEntries {
    const Strings &main;
    const Strings &delta;
    std::uint32_t *sources;

    bool before(std::uint64_t j, std::uint64_t i) const { return delta.at(j) < main.at(i); }
    bool same(std::uint64_t j, std::uint64_t i) const { return delta.at(j) == main.at(i); }
    void emit_main(std::uint64_t i, std::uint64_t code) { sources[code] = static_cast<std::uint32_t>(i); }
    void emit_delta(std::uint64_t j, std::uint64_t code) {
        sources[code] = static_cast<std::uint32_t>(j) | of_delta;
    }
    std::string_view source(std::uint64_t code) const {
        const std::uint32_t index = sources[code] & ~of_delta;
        return (sources[code] & of_delta) != 0 ? delta.at(index) : main.at(index);
    }
};

}  // namespace

Status HostDictionaries::merge(Stream &stream, const StringDictionary &main, const StringDictionary &delta,
                               MergedStrings *merged) noexcept {
    return guarded([&] {
        check_merged_entries(main.count, delta.count);
        const Workers workers = engine_.workers(stream);
        const Strings main_strings(engine_.memory(), main);
        const Strings delta_strings(engine_.memory(), delta);
        // Strings that change during the call may leave places unwritten.
        Buffer<std::uint32_t> sources(engine_.memory(), main.count + delta.count);
        std::fill_n(sources.data(), sources.size(), main.count > 0 ? 0 : of_delta);
        StringEntries entries{main_strings, delta_strings, sources.data()};
        const std::uint64_t count =
            merge_fused(workers, entries, main.count, delta.count, merged->main_map, merged->delta_map);
        Buffer<std::uint64_t> offsets(engine_.memory(), count + 1);
        offsets[0] = 0;
        for (std::uint64_t code = 0; code < count; ++code) {
            offsets[code + 1] = offsets[code] + entries.source(code).size();
        }
        if (offsets[count] > main_strings.size() + delta_strings.size()) {
            return make_status(StatusCode::invalid_argument,
                               "a dictionary's strings changed while they were merged");
        }
        workers.for_pieces(count, strings_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t code = first; code < last; ++code) {
                const std::string_view bytes = entries.source(code);
                std::copy(bytes.begin(), bytes.end(), merged->bytes + offsets[code]);
            }
        });
        std::copy_n(offsets.data(), count + 1, merged->offsets);
        merged->count = count;
        return Status{};
    });
}

}  // namespace gpu_engine::host
