// Dictionaries of byte strings on the processor.
#include <algorithm>
#include <string_view>

#include "studies/column/host/studies.h"
#include "gpu_engine/guard.h"
#include "studies/column/string_hash.h"
#include "host/buffer.h"
#include "host/column/merge/dictionary_merge.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t strings_a_piece = 1 << 14;
constexpr std::uint32_t of_delta = 1U << 31;

// A caller's strings, with offsets of our own that are known to be sound.
struct Strings {
    Buffer<std::uint64_t> offsets;
    const char *bytes = nullptr;

    Buffer<std::uint64_t> hashes;  // where strings are sorted by them

    Strings(MemoryBudget &budget, const StringDictionary &strings, StringOrder order)
        : offsets(budget, strings.count + 1),
          bytes(reinterpret_cast<const char *>(strings.bytes)),
          hashes(budget, order == StringOrder::hash ? strings.count : 0) {
        offsets[0] = 0;
        if (strings.count > 0) {
            std::copy_n(strings.offsets, strings.count + 1, offsets.data());
        }
        if (offsets[0] != 0 || !std::is_sorted(offsets.data(), offsets.data() + strings.count + 1)) {
            throw Failure{make_status(StatusCode::invalid_argument,
                                      "the offsets of a dictionary's strings don't ascend")};
        }
    }
    void hash(const Workers &workers) {
        workers.for_pieces(hashes.size(), strings_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t i = first; i < last; ++i) {
                hashes[i] = string_hash(reinterpret_cast<const std::uint8_t *>(at(i).data()), at(i).size());
            }
        });
    }
    std::uint64_t size() const { return offsets[offsets.size() - 1]; }
    // Strings are compared by their bytes as unsigned numbers; where one begins with the other the shorter
    // comes first.
    std::string_view at(std::uint64_t i) const { return {bytes + offsets[i], offsets[i + 1] - offsets[i]}; }
};

template <StringOrder Order>
struct StringEntries {
    const Strings &main;
    const Strings &delta;
    std::uint32_t *sources;

    bool before(std::uint64_t j, std::uint64_t i) const {
        if constexpr (Order == StringOrder::hash) {
            if (delta.hashes[j] != main.hashes[i]) {
                return delta.hashes[j] < main.hashes[i];
            }
        }
        return delta.at(j) < main.at(i);
    }
    bool same(std::uint64_t j, std::uint64_t i) const {
        if constexpr (Order == StringOrder::hash) {
            if (delta.hashes[j] != main.hashes[i]) {
                return false;
            }
        }
        return delta.at(j) == main.at(i);
    }
    void emit_main(std::uint64_t i, std::uint64_t code) { sources[code] = static_cast<std::uint32_t>(i); }
    void emit_delta(std::uint64_t j, std::uint64_t code) {
        sources[code] = static_cast<std::uint32_t>(j) | of_delta;
    }
    std::string_view source(std::uint64_t code) const {
        const std::uint32_t index = sources[code] & ~of_delta;
        return (sources[code] & of_delta) != 0 ? delta.at(index) : main.at(index);
    }
};

template <StringOrder Order>
Status merge_strings(MemoryBudget &budget, const Workers &workers, const Strings &main, const Strings &delta,
                     MergedStrings *merged) {
    const std::uint64_t main_count = main.offsets.size() - 1;
    const std::uint64_t delta_count = delta.offsets.size() - 1;
    // Strings that change during the call may leave places unwritten.
    Buffer<std::uint32_t> sources(budget, main_count + delta_count);
    std::fill_n(sources.data(), sources.size(), main_count > 0 ? 0 : of_delta);
    StringEntries<Order> entries{main, delta, sources.data()};
    const std::uint64_t count =
        merge_fused(workers, entries, main_count, delta_count, merged->main_map, merged->delta_map);
    Buffer<std::uint64_t> offsets(budget, count + 1);
    offsets[0] = 0;
    for (std::uint64_t code = 0; code < count; ++code) {
        offsets[code + 1] = offsets[code] + entries.source(code).size();
    }
    if (offsets[count] > main.size() + delta.size()) {
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
}

}  // namespace

Status HostDictionaries::merge(Stream &stream, const StringDictionary &main, const StringDictionary &delta,
                               StringOrder order, MergedStrings *merged) noexcept {
    return guarded([&] {
        check_merged_entries(main.count, delta.count);
        const Workers workers = engine_.workers(stream);
        Strings main_strings(engine_.memory(), main, order);
        Strings delta_strings(engine_.memory(), delta, order);
        if (order == StringOrder::bytes) {
            return merge_strings<StringOrder::bytes>(engine_.memory(), workers, main_strings, delta_strings,
                                                     merged);
        }
        main_strings.hash(workers);
        delta_strings.hash(workers);
        return merge_strings<StringOrder::hash>(engine_.memory(), workers, main_strings, delta_strings,
                                                merged);
    });
}

}  // namespace gpu_engine::host
