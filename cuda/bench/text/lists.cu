// Decompression and intersection of single lists.
#include <cstdio>

#include "bench/kary/measure.cuh"
#include "bench/text/corpus.h"
#include "bench/text/parts.h"
#include "device/text/damage.h"
#include "device/text/decode_list.cuh"
#include "device/text/intersect.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::bench {
namespace {

constexpr std::uint32_t documents = 1 << 26;
constexpr postings::Codec codecs[] = {postings::Codec::Bitpack, postings::Codec::PForDelta,
                                      postings::Codec::Rice};
constexpr const char *codec_names[] = {"bitpack", "pfordelta", "rice"};

// Lists on the device, without documents.
struct DeviceLists {
    Lists lists;
    device::Buffer<char> section;
    device::TextView view;

    DeviceLists(const device::Call &call, Lists made) : lists(std::move(made)) {
        section = call.buffer<char>(lists.section.size() + device::posting_padding);
        call.copy(section.data(), reinterpret_cast<const char *>(lists.section.data()), lists.section.size());
        call.wait();
        view = {reinterpret_cast<const std::uint32_t *>(section.data()),
                nullptr,
                nullptr,
                nullptr,
                lists.documents,
                lists.codec,
                {}};
    }
    device::ListView list(std::size_t i) const { return device::view_of(lists.shape(), lists.lists[i]); }
};

// Returns how many bytes a large copy reads and writes a second.
double copied_bytes(const Bench &bench, const device::Call &call) {
    constexpr std::uint64_t bytes = std::uint64_t(1) << 30;
    const device::Buffer<char> from = call.buffer<char>(bytes);
    const device::Buffer<char> to = call.buffer<char>(bytes);
    const double ms =
        median_ms(bench, [&] { call.copy(to.data(), static_cast<const char *>(from.data()), bytes); });
    return 2.0 * bytes / ms * 1000;
}

std::string in_thousands(std::uint32_t count) {
    return count >= 1000000
               ? std::to_string(count / 100000 / 10) + "." + std::to_string(count / 100000 % 10) + " M"
               : std::to_string(count / 1000) + " k";
}

}  // namespace

void measure_decompression(const Bench &bench) {
    const device::Call call(bench.engine, bench.stream);
    const double bandwidth = copied_bytes(bench, call);
    const std::vector<std::uint32_t> counts = {10000, 100000, 1000000, 4000000, 16000000, 30000000};
    for (std::size_t codec = 0; codec < std::size(codecs); ++codec) {
        const DeviceLists lists(call, make_lists(codecs[codec], documents, counts, {}, nullptr));
        const device::Damage damage(call);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const device::ListView list = lists.list(i);
            const device::Buffer<std::uint32_t> out = call.buffer<std::uint32_t>(list.documents);
            const double bytes = static_cast<double>(lists.lists.lists[i].bytes) / list.documents;
            for (const bool sums : {true, false}) {
                const double ms = median_ms(bench, [&] {
                    if (sums) {
                        device::decode_list(call, lists.view, list, out.data(), damage.flag());
                    } else {
                        device::whole_lists::launch_decode<false>(call, lists.view, list, out.data(),
                                                                  damage.flag(), {});
                    }
                });
                const double written = 4.0 * list.documents;
                bench.results.add({"decompression, by postings a list",
                                   std::string(codec_names[codec]) + (sums ? "" : ", without the sums"),
                                   in_thousands(counts[i]), list.documents / ms / 1e6, "G integers/s",
                                   (written + bytes * list.documents) / bandwidth * 1000 / ms, bytes});
            }
        }
        damage.raise();
    }
}

void measure_intersections(const Bench &bench) {
    const device::Call call(bench.engine, bench.stream);
    const std::vector<std::uint32_t> counts = {200000,  400000,   800000,   1600000, 3200000,
                                               6400000, 12800000, 12800000, 6400000, 3200000,
                                               1600000, 800000,   400000,   200000};
    const DeviceLists lists(call, make_lists(postings::Codec::PForDelta, documents, counts, {}, nullptr));
    const device::Damage damage(call);
    const device::Buffer<std::uint32_t> kept = call.buffer<std::uint32_t>(1);
    for (const bool equal : {true, false}) {
        const std::string table = equal ? "intersection of equal lists" : "intersection of 200 k with";
        for (std::size_t i = 0; i < counts.size() / 2; ++i) {
            const device::ListView shorter = lists.list(equal ? i : 0);
            const device::ListView longer = lists.list(counts.size() - 1 - i);
            const std::uint32_t count = shorter.documents;
            const device::Buffer<std::uint32_t> ordinals = call.buffer<std::uint32_t>(count);
            const device::Buffer<std::uint32_t> common = call.buffer<std::uint32_t>(count);
            const device::Buffer<std::uint32_t> blocks = call.buffer<std::uint32_t>(count);
            const device::Buffer<std::uint8_t> flags = call.buffer<std::uint8_t>(count);
            device::decode_list(call, lists.view, shorter, ordinals.data(), damage.flag());
            const auto add = [&](const std::string &line, double ms) {
                bench.results.add({table, line, in_thousands(counts[i]), ms, "ms", 0, 0});
            };
            for (std::uint32_t levels = 1; levels <= device::max_find_levels; ++levels) {
                const std::string line = std::to_string(levels) + (levels == 1 ? " level" : " levels");
                add("find, " + line, median_ms(bench, [&] {
                        device::find_blocks(call, lists.view, longer, ordinals.data(), count, levels,
                                            blocks.data());
                    }));
                add("all, " + line, median_ms(bench, [&] {
                        device::decode_list(call, lists.view, shorter, ordinals.data(), damage.flag());
                        device::keep_common(call, lists.view, longer, ordinals.data(), count, levels,
                                            blocks.data(), flags.data(), common.data(), kept.data(),
                                            damage.flag());
                    }));
            }
            const device::Buffer<std::uint32_t> whole = call.buffer<std::uint32_t>(longer.documents);
            add("decompression of both", median_ms(bench, [&] {
                    device::decode_list(call, lists.view, shorter, ordinals.data(), damage.flag());
                    device::decode_list(call, lists.view, longer, whole.data(), damage.flag());
                }));
        }
    }
    damage.raise();
}

}  // namespace gpu_engine::bench
