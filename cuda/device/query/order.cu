#include "device/query/order.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <vector>

#include "device/cub_calls.cuh"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

__global__ void begin_rows_kernel(std::uint32_t *rows, std::uint64_t count) {
    const std::uint64_t i = plain_index();
    if (i < count) {
        rows[i] = static_cast<std::uint32_t>(i);
    }
}

__global__ void gather_kernel(const std::uint64_t *from, const std::uint32_t *rows, std::uint64_t count,
                              std::uint32_t words, std::uint64_t *to) {
    const std::uint64_t i = plain_index();
    if (i < count * words) {
        to[i] = from[static_cast<std::uint64_t>(rows[i / words]) * words + i % words];
    }
}

// Where few rows are wanted of many, a sample tells below which word they are.
constexpr std::uint64_t sample_size = 1 << 14;
constexpr std::uint64_t spare_of_sample = 32;
constexpr std::uint64_t least_sampled = 1 << 18;
constexpr std::uint64_t least_share = 16;

unsigned busy_blocks(const Call &call, std::uint64_t elements) {
    return std::min(plain_blocks(elements), static_cast<unsigned>(call.engine().multiprocessors()) * 8);
}

std::uint64_t check_count(std::uint64_t count) {
    if (count > UINT32_MAX) {
        throw Failure{make_status(StatusCode::unavailable, "there are too many rows for an order")};
    }
    return count;
}

__global__ void take_sample_kernel(const std::uint64_t *words, std::uint64_t step, std::uint64_t *sample) {
    const std::uint64_t i = plain_index();
    if (i < sample_size) {
        sample[i] = words[i * step];
    }
}

// Counts the rows whose words aren't above `highest`, and lists them where `rows` isn't null.
__global__ void list_lowest_kernel(const std::uint64_t *words, std::uint64_t count, std::uint64_t highest,
                                   unsigned long long *found, std::uint32_t *rows) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    const std::uint32_t lane = threadIdx.x % 32;
    for (std::uint64_t first = plain_index() - lane; first < count; first += step) {
        const std::uint64_t row = first + lane;
        const std::uint32_t lanes = __ballot_sync(UINT32_MAX, row < count && words[row] <= highest);
        if (lanes == 0) {
            continue;
        }
        unsigned long long place = 0;
        if (lane == 0) {
            place = atomicAdd(found, static_cast<unsigned long long>(__popc(lanes)));
        }
        place = __shfl_sync(UINT32_MAX, place, 0) + __popc(lanes & ((1U << lane) - 1));
        if (rows != nullptr && (lanes >> lane & 1) != 0) {
            rows[place] = static_cast<std::uint32_t>(row);
        }
    }
}

// Finds the bits in which words differ from the first one.
__global__ void find_differences_kernel(const std::uint64_t *words, std::uint64_t count,
                                        unsigned long long *differences) {
    std::uint64_t own = 0;
    for (std::uint64_t i = plain_index(); i < count;
         i += static_cast<std::uint64_t>(gridDim.x) * blockDim.x) {
        own |= words[i] ^ words[0];
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        own |= __shfl_down_sync(UINT32_MAX, own, distance);
    }
    if (threadIdx.x % 32 == 0 && own != 0) {
        atomicOr(differences, own);
    }
}

}  // namespace

RowOrder::RowOrder(const Call &call, Buffer<std::uint32_t> rows)
    : call_(call),
      count_(rows.size()),
      is_as_numbered_(false),
      rows_(std::move(rows)),
      other_rows_(call.buffer<std::uint32_t>(count_)),
      keys_(call.buffer<std::uint64_t>(count_)),
      other_keys_(call.buffer<std::uint64_t>(count_)),
      differences_(call.buffer<unsigned long long>(1)) {}

RowOrder::RowOrder(const Call &call, std::uint64_t count)
    : RowOrder(call, call.buffer<std::uint32_t>(check_count(count))) {
    is_as_numbered_ = true;
    if (count > 0) {
        begin_rows_kernel<<<plain_blocks(count), plain_threads, 0, call.stream()>>>(rows_.data(), count);
        device::check_launch("begin_rows_kernel");
    }
}

void RowOrder::order_by(const std::uint64_t *words) {
    if (count_ < 2) {
        return;
    }
    if (is_as_numbered_) {
        call_.copy(keys_.data(), words, count_);
    } else {
        gather_words(call_, words, rows_.data(), count_, 1, keys_.data());
    }
    call_.fill(differences_.data(), 0, sizeof(std::uint64_t));
    find_differences_kernel<<<busy_blocks(call_, count_), plain_threads, 0, call_.stream()>>>(
        keys_.data(), count_, differences_.data());
    device::check_launch("find_differences_kernel");
    const std::uint64_t differences = device::read_element(call_, differences_.data());
    if (differences == 0) {
        return;
    }
    is_as_numbered_ = false;
    cub::DoubleBuffer<std::uint64_t> keys(keys_.data(), other_keys_.data());
    cub::DoubleBuffer<std::uint32_t> rows(rows_.data(), other_rows_.data());
    const int first_bit = std::countr_zero(differences);
    const int end_bit = 64 - std::countl_zero(differences);
    device::with_scratch_memory(call_, "DeviceRadixSort::SortPairs", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, rows, count_, first_bit, end_bit,
                                               call_.stream());
    });
    if (rows.Current() != rows_.data()) {
        std::swap(rows_, other_rows_);
    }
}

Buffer<std::uint32_t> find_first_rows(const Call &call, const std::uint64_t *words, std::uint64_t count,
                                      std::uint64_t wanted) {
    if (count < least_sampled || wanted > count / least_share) {
        return {};
    }
    // Twice as many rows as are wanted come before the highest word that is taken, and some more for luck.
    const Buffer<std::uint64_t> sample = call.buffer<std::uint64_t>(sample_size);
    take_sample_kernel<<<plain_blocks(sample_size), plain_threads, 0, call.stream()>>>(
        words, count / sample_size, sample.data());
    device::check_launch("take_sample_kernel");
    std::vector<std::uint64_t> sampled(sample_size);
    call.read(sampled.data(), sample.data(), sample_size);
    const std::uint64_t place = 2 * wanted * sample_size / count + spare_of_sample;
    std::nth_element(sampled.begin(), sampled.begin() + static_cast<std::ptrdiff_t>(place), sampled.end());
    const std::uint64_t highest = sampled[place];

    const Buffer<unsigned long long> found = call.buffer<unsigned long long>(1);
    const auto list = [&](std::uint32_t *rows) {
        call.fill(found.data(), 0, sizeof(std::uint64_t));
        list_lowest_kernel<<<busy_blocks(call, count), plain_threads, 0, call.stream()>>>(
            words, count, highest, found.data(), rows);
        device::check_launch("list_lowest_kernel");
    };
    list(nullptr);
    const std::uint64_t rows_found = device::read_element(call, found.data());
    if (rows_found < wanted || rows_found > count / 2) {
        return {};
    }
    Buffer<std::uint32_t> rows = call.buffer<std::uint32_t>(rows_found);
    list(rows.data());
    return rows;
}

void gather_words(const Call &call, const std::uint64_t *from, const std::uint32_t *rows, std::uint64_t count,
                  std::uint32_t words, std::uint64_t *to) {
    if (count > 0) {
        gather_kernel<<<plain_blocks(count * words), plain_threads, 0, call.stream()>>>(from, rows, count,
                                                                                        words, to);
        device::check_launch("gather_kernel");
    }
}

}  // namespace gpu_engine::query::on_device
