// Dictionaries of byte strings. They are merged as dictionaries of numbers are: by their hash, or by their
// first 8 bytes behind what all have in common; where these are equal all bytes decide. The merge gives each
// new entry's source; lengths, offsets and bytes follow from that.
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <optional>

#include "studies/column/device/studies.h"
#include "studies/column/device/dictionary.cuh"
#include "studies/column/string_hash.h"

namespace gpu_engine::device {
namespace {

struct Strings {
    const std::uint64_t *offsets;
    const std::uint8_t *bytes;

    __device__ std::uint64_t length(std::uint32_t i) const { return offsets[i + 1] - offsets[i]; }
    // Makes a number of the 8 bytes from `skip` on, which orders as they do. Bytes behind the end are 0.
    __device__ std::uint64_t prefix(std::uint32_t i, std::uint64_t skip) const {
        const std::uint64_t end = offsets[i + 1];
        const std::uint64_t first = offsets[i] + skip;
        std::uint64_t result = 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            result = result << 8 | (first + k < end ? bytes[first + k] : 0);
        }
        return result;
    }
};

// Returns a negative number, 0 or a positive one as a is before, the same as or behind b. They are known to
// agree up to `first`.
__device__ int compare(const Strings &a, std::uint32_t i, const Strings &b, std::uint32_t j,
                       std::uint64_t first) {
    const std::uint64_t a_length = a.length(i);
    const std::uint64_t b_length = b.length(j);
    const std::uint64_t both = a_length < b_length ? a_length : b_length;
    const std::uint8_t *const a_bytes = a.bytes + a.offsets[i];
    const std::uint8_t *const b_bytes = b.bytes + b.offsets[j];
    for (std::uint64_t k = first; k < both; ++k) {
        if (a_bytes[k] != b_bytes[k]) {
            return a_bytes[k] < b_bytes[k] ? -1 : 1;
        }
    }
    return a_length < b_length ? -1 : a_length > b_length ? 1 : 0;
}

constexpr std::uint32_t of_delta = 1U << 31;

// Strings sorted by their bytes.
struct StringMerge {
    using Key = std::uint64_t;
    using Staged = std::uint32_t;
    static constexpr bool keys_are_entries = false;

    Strings main;
    Strings delta;
    const std::uint64_t *common;  // bytes that all entries begin with
    Staged *merged;

    __device__ __forceinline__ Key main_key(std::uint32_t i) const { return main.prefix(i, *common); }
    __device__ __forceinline__ Key delta_key(std::uint32_t i) const { return delta.prefix(i, *common); }
    __device__ __forceinline__ bool before(Key delta_key, std::uint32_t j, Key main_key,
                                           std::uint32_t i) const {
        return delta_key < main_key || (delta_key == main_key && compare(delta, j, main, i, *common) < 0);
    }
    __device__ __forceinline__ bool same(Key delta_key, std::uint32_t j, Key main_key,
                                         std::uint32_t i) const {
        return delta_key == main_key && compare(delta, j, main, i, *common) == 0;
    }
    __device__ __forceinline__ Staged staged_main(Key, std::uint32_t i) const { return i; }
    __device__ __forceinline__ Staged staged_delta(Key, std::uint32_t j) const { return j | of_delta; }
};

// Strings sorted by their hash.
struct HashedStringMerge {
    using Key = std::uint64_t;
    using Staged = std::uint32_t;
    static constexpr bool keys_are_entries = false;

    Strings main_strings;
    Strings delta_strings;
    const std::uint64_t *main_hashes;
    const std::uint64_t *delta_hashes;
    Staged *merged;

    __device__ __forceinline__ Key main_key(std::uint32_t i) const { return main_hashes[i]; }
    __device__ __forceinline__ Key delta_key(std::uint32_t i) const { return delta_hashes[i]; }
    __device__ __forceinline__ bool before(Key delta_key, std::uint32_t j, Key main_key,
                                           std::uint32_t i) const {
        return delta_key < main_key ||
               (delta_key == main_key && compare(delta_strings, j, main_strings, i, 0) < 0);
    }
    __device__ __forceinline__ bool same(Key delta_key, std::uint32_t j, Key main_key,
                                         std::uint32_t i) const {
        return delta_key == main_key && compare(delta_strings, j, main_strings, i, 0) == 0;
    }
    __device__ __forceinline__ Staged staged_main(Key, std::uint32_t i) const { return i; }
    __device__ __forceinline__ Staged staged_delta(Key, std::uint32_t j) const { return j | of_delta; }
};

__global__ void hash_strings_kernel(Strings strings, std::uint64_t count, std::uint64_t *hashes) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        hashes[i] =
            string_hash(strings.bytes + strings.offsets[i], strings.offsets[i + 1] - strings.offsets[i]);
    }
}

// In sorted dictionaries all entries begin with what the first and the last ones have in common. One warp
// finds it.
__global__ void common_prefix_kernel(Strings main, std::uint32_t main_count, Strings delta,
                                     std::uint32_t delta_count, std::uint64_t *common) {
    const Strings &base = main_count > 0 ? main : delta;
    std::uint64_t length = base.length(0);
    const auto cut = [&](const Strings &other, std::uint32_t i) {
        length = min(length, other.length(i));
        for (std::uint64_t first = 0; first < length; first += 32) {
            const std::uint64_t k = first + threadIdx.x;
            const bool differs =
                k < length && other.bytes[other.offsets[i] + k] != base.bytes[base.offsets[0] + k];
            const unsigned differing = __ballot_sync(0xffffffffU, differs);
            if (differing != 0) {
                length = first + static_cast<std::uint64_t>(__ffs(static_cast<int>(differing)) - 1);
            }
        }
    };
    if (main_count > 0) {
        cut(main, main_count - 1);
    }
    if (delta_count > 0) {
        cut(delta, 0);
        cut(delta, delta_count - 1);
    }
    if (threadIdx.x == 0) {
        *common = length;
    }
}

__global__ void check_offsets_kernel(const std::uint64_t *offsets, std::uint64_t count, std::uint64_t bytes,
                                     std::uint32_t *broken) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count && (offsets[i] > offsets[i + 1] || offsets[i + 1] > bytes)) {
        *broken = 1;
    }
    if (i == 0 && offsets[0] != 0) {
        *broken = 1;
    }
}

struct SourceLength {
    Strings main;
    Strings delta;
    const std::uint32_t *sources;
    std::uint64_t count;

    __device__ std::uint64_t operator()(std::int64_t i) const {
        if (static_cast<std::uint64_t>(i) >= count) {
            return 0;
        }
        const std::uint32_t source = sources[i];
        return (source & of_delta) != 0 ? delta.length(source & ~of_delta) : main.length(source);
    }
};

constexpr int copy_threads = 256;
constexpr int copy_bytes = 16;

// Each block copies the bytes of copy_threads entries. Its threads take 16 bytes of the result at a time, and
// write them at once where all of them are the block's.
__global__ void __launch_bounds__(copy_threads)
    copy_strings_kernel(Strings main, Strings delta, const std::uint32_t *sources,
                        const std::uint64_t *offsets, std::uint64_t count, std::uint8_t *bytes) {
    __shared__ std::uint64_t ends[copy_threads];
    __shared__ const std::uint8_t *froms[copy_threads];
    const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * copy_threads;
    const std::uint64_t i = first + threadIdx.x;
    const auto entries = static_cast<int>(min(static_cast<std::uint64_t>(copy_threads), count - first));
    if (i < count) {
        const std::uint32_t source = sources[i];
        const std::uint32_t index = source & ~of_delta;
        ends[threadIdx.x] = offsets[i + 1];
        froms[threadIdx.x] =
            (source & of_delta) != 0 ? delta.bytes + delta.offsets[index] : main.bytes + main.offsets[index];
    }
    __syncthreads();
    const std::uint64_t begin = offsets[first];
    const std::uint64_t end = ends[entries - 1];
    const auto misplaced =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(bytes + begin) % copy_bytes);
    for (std::uint64_t turn = threadIdx.x; turn * copy_bytes < misplaced + end - begin;
         turn += copy_threads) {
        // The chunks are counted from the boundary before `begin`.
        const std::uint64_t chunk = turn * copy_bytes;
        const std::uint64_t at = begin + (chunk > misplaced ? chunk - misplaced : 0);
        const std::uint64_t last = min(end, begin + chunk + copy_bytes - misplaced);
        int entry = 0;
        int high = entries - 1;
        while (entry < high) {
            const int middle = (entry + high) / 2;
            if (ends[middle] > at) {
                high = middle;
            } else {
                entry = middle + 1;
            }
        }
        std::uint64_t entry_begin = entry == 0 ? begin : ends[entry - 1];
        std::uint32_t found[copy_bytes / 4] = {};
#pragma unroll
        for (int k = 0; k < copy_bytes; ++k) {
            const std::uint64_t from = at + static_cast<std::uint64_t>(k);
            if (from < last) {
                while (ends[entry] <= from) {
                    entry_begin = ends[entry++];
                }
                found[k / 4] |= static_cast<std::uint32_t>(froms[entry][from - entry_begin]) << (k % 4 * 8);
            }
        }
        if (last - at == copy_bytes) {
            *reinterpret_cast<uint4 *>(bytes + at) = uint4{found[0], found[1], found[2], found[3]};
        } else {
#pragma unroll
            for (int k = 0; k < copy_bytes; ++k) {
                if (at + static_cast<std::uint64_t>(k) < last) {
                    bytes[at + static_cast<std::uint64_t>(k)] =
                        static_cast<std::uint8_t>(found[k / 4] >> (k % 4 * 8));
                }
            }
        }
    }
}

// A caller's strings on the device.
class StringInput {
  public:
    StringInput(const Call &call, const StringDictionary &strings)
        : count_(strings.count), offsets_(call, strings.offsets, strings.count + 1, strings.count + 1) {
        if (strings.count == 0) {
            return;
        }
        call.copy(&bytes_, strings.offsets + strings.count, 1);
        call.wait();
        input_.emplace(call, strings.bytes, bytes_, bytes_);
        own_ = Strings{offsets_.piece(0, count_ + 1), input_->piece(0, bytes_)};
    }
    const Strings &strings() const { return own_; }
    std::uint64_t bytes() const { return bytes_; }
    void check(const Call &call, std::uint32_t *broken) const {
        constexpr unsigned threads = 256;
        if (count_ > 0) {
            check_offsets_kernel<<<static_cast<unsigned>((count_ + threads - 1) / threads), threads, 0,
                                   call.stream()>>>(own_.offsets, count_, bytes_, broken);
            check_launch("check_offsets_kernel");
        }
    }

    void hash(const Call &call, std::uint64_t *hashes) const {
        constexpr unsigned threads = 256;
        if (count_ > 0) {
            hash_strings_kernel<<<static_cast<unsigned>((count_ + threads - 1) / threads), threads, 0,
                                  call.stream()>>>(own_, count_, hashes);
            check_launch("hash_strings_kernel");
        }
    }

  private:
    std::uint64_t count_;
    std::uint64_t bytes_ = 0;
    Input<std::uint64_t> offsets_;
    std::optional<Input<std::uint8_t>> input_;
    Strings own_{};
};

// Comparing strings beyond their keys takes many registers, so this shape has fewer threads.
struct StringShape {
    static constexpr int threads = 256;
    static constexpr int blocks = 5;
    static constexpr int items = 12;
};

}  // namespace

Status DeviceDictionaries::merge(Stream &stream, const StringDictionary &main, const StringDictionary &delta,
                                 StringOrder order, MergedStrings *merged) noexcept {
    return guarded([&] {
        check_merged_entries(main.count, delta.count);
        const Call call(engine_, stream);
        const std::uint64_t total = main.count + delta.count;
        const std::uint64_t no_bytes = 0;
        if (total == 0) {
            call.copy(merged->offsets, &no_bytes, 1);
            call.wait();
            merged->count = 0;
            return Status{};
        }
        const StringInput main_input(call, main);
        const StringInput delta_input(call, delta);
        const Buffer<std::uint32_t> broken = call.buffer<std::uint32_t>(1);
        call.fill(broken.data(), 0, sizeof(std::uint32_t));
        main_input.check(call, broken.data());
        delta_input.check(call, broken.data());
        std::uint32_t is_broken = 0;
        call.copy(&is_broken, static_cast<const std::uint32_t *>(broken.data()), 1);
        call.wait();
        if (is_broken != 0) {
            return make_status(StatusCode::invalid_argument,
                               "the offsets of a dictionary's strings don't ascend");
        }
        const Output<std::uint32_t> main_map(call, merged->main_map, main.count, main.count);
        const Output<std::uint32_t> delta_map(call, merged->delta_map, delta.count, delta.count);
        const Output<std::uint64_t> offsets(call, merged->offsets, total + 1, total + 1);
        const std::uint64_t max_bytes = main_input.bytes() + delta_input.bytes();
        const Output<std::uint8_t> bytes(call, merged->bytes, max_bytes, max_bytes);
        const Buffer<std::uint32_t> sources = call.buffer<std::uint32_t>(total);
        // A merge of entries that aren't sorted leaves places out.
        call.fill(sources.data(), 0, total * sizeof(std::uint32_t));
        const auto merge_sources = [&](const auto &merge) {
            launch_fused_merge<StringShape>(call, merge, main.count, delta.count, main_map.piece(0),
                                            delta_map.piece(0), call.result());
        };
        const Buffer<std::uint64_t> common = call.buffer<std::uint64_t>(1);
        const bool hashed = order == StringOrder::hash;
        const Buffer<std::uint64_t> main_hashes = call.buffer<std::uint64_t>(hashed ? main.count : 0);
        const Buffer<std::uint64_t> delta_hashes = call.buffer<std::uint64_t>(hashed ? delta.count : 0);
        if (hashed) {
            main_input.hash(call, main_hashes.data());
            delta_input.hash(call, delta_hashes.data());
            merge_sources(HashedStringMerge{main_input.strings(), delta_input.strings(), main_hashes.data(),
                                            delta_hashes.data(), sources.data()});
        } else {
            common_prefix_kernel<<<1, 32, 0, call.stream()>>>(
                main_input.strings(), static_cast<std::uint32_t>(main.count), delta_input.strings(),
                static_cast<std::uint32_t>(delta.count), common.data());
            check_launch("common_prefix_kernel");
            merge_sources(
                StringMerge{main_input.strings(), delta_input.strings(), common.data(), sources.data()});
        }
        call.wait();
        merged->count = *call.result();
        const auto lengths = thrust::make_transform_iterator(
            thrust::counting_iterator<std::int64_t>(0),
            SourceLength{main_input.strings(), delta_input.strings(), sources.data(), merged->count});
        with_scratch_memory(call, "DeviceScan::ExclusiveSum", [&](void *scratch, std::size_t &scratch_bytes) {
            return cub::DeviceScan::ExclusiveSum(scratch, scratch_bytes, lengths, offsets.piece(0),
                                                 static_cast<std::int64_t>(merged->count + 1), call.stream());
        });
        std::uint64_t all_bytes = 0;
        call.copy(&all_bytes, static_cast<const std::uint64_t *>(offsets.piece(0)) + merged->count, 1);
        call.wait();
        if (all_bytes > max_bytes) {
            return make_status(StatusCode::invalid_argument, not_sorted);
        }
        copy_strings_kernel<<<static_cast<unsigned>((merged->count + copy_threads - 1) / copy_threads),
                              copy_threads, 0, call.stream()>>>(main_input.strings(), delta_input.strings(),
                                                                sources.data(), offsets.piece(0),
                                                                merged->count, bytes.piece(0));
        check_launch("copy_strings_kernel");
        offsets.flush(0, merged->count + 1);
        bytes.flush(0, all_bytes);
        main_map.flush(0, main.count);
        delta_map.flush(0, delta.count);
        call.wait();
        return Status{};
    });
}

}  // namespace gpu_engine::device
