// Reading groups, and what groups of an answer others must know of.
#include "device/column/aggregate_answer.h"

#include <algorithm>

#include "device/column/aggregate_top.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

constexpr int threads = 256;

struct KeysView {
    AggregateKey key[max_aggregate_keys];
    std::uint32_t count;
};

// `marks` has max_aggregate_keys * key_mark_words * 2 words of 32 bits, those of KeyMarks.
__global__ void mark_keys_kernel(const std::uint64_t *records, std::uint64_t count, std::uint32_t words,
                                 const __grid_constant__ KeysView keys, std::uint32_t *marks) {
    constexpr std::uint32_t words_a_key = 2 * key_mark_words;
    __shared__ std::uint32_t own[max_aggregate_keys * words_a_key];
    for (std::uint32_t i = threadIdx.x; i < keys.count * words_a_key; i += blockDim.x) {
        own[i] = 0;
    }
    __syncthreads();
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        for (std::uint32_t k = 0; k < keys.count; ++k) {
            const std::uint32_t stretch = key_stretch(keys.key[k], records + i * words);
            std::uint32_t *word = own + k * words_a_key + stretch / 32;
            const std::uint32_t bit = 1U << stretch % 32;
            // Most stretches have been marked by an earlier group.
            if ((*static_cast<volatile std::uint32_t *>(word) & bit) == 0) {
                atomicOr(word, bit);
            }
        }
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < keys.count * words_a_key; i += blockDim.x) {
        if ((own[i] & ~*static_cast<volatile std::uint32_t *>(marks + i)) != 0) {
            atomicOr(marks + i, own[i]);
        }
    }
}

}  // namespace

Status DeviceAggregateAnswer::read_groups(Stream &stream, std::uint64_t first, std::uint64_t count,
                                          std::uint64_t *records) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        if (table_ != nullptr && groups_.size() == 0) {
            groups_ = list_groups(call, table_->filled, table_->program->view(), group_count_);
            groups_.set_stream(engine_.release_stream());
        }
        return read(call, groups_, group_count_, words_, first, count, records);
    });
}

Status DeviceAggregateAnswer::read_doubtful(Stream &stream, std::uint64_t first, std::uint64_t count,
                                            std::uint64_t *records) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        return read(call, doubtful_, doubtful_count_, words_ + 1, first, count, records);
    });
}

Status DeviceAggregateAnswer::read(const Call &call, const Buffer<std::uint64_t> &from,
                                   std::uint64_t records_there, std::uint64_t words, std::uint64_t first,
                                   std::uint64_t count, std::uint64_t *records) const {
    if (first > records_there || count > records_there - first) {
        return make_status(StatusCode::invalid_argument, "there are no such groups");
    }
    call.copy(records, static_cast<const std::uint64_t *>(from.data()) + first * words, count * words);
    call.wait();
    return Status{};
}

// The listed groups, as kernels go over them.
FilledTable DeviceAggregateAnswer::list() const {
    FilledTable filled = {};
    filled.table.records = reinterpret_cast<Word *>(groups_.data());
    filled.table.slots = group_count_;
    filled.table.stride = words_;
    filled.records = group_count_;
    filled.words = words_;
    filled.is_list = true;
    return filled;
}

Status DeviceAggregateAnswer::mark_keys(Stream &stream, const AggregateProgram &program,
                                        KeyMarks *marks) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        if (table_ != nullptr) {
            return make_status(StatusCode::invalid_argument, "the groups aren't listed");
        }
        KeysView keys = {};
        keys.count = program.key_count;
        std::copy_n(program.key, program.key_count, keys.key);
        const Buffer<KeyMarks> found = call.buffer<KeyMarks>(1);
        call.fill(found.data(), 0, sizeof(KeyMarks));
        if (group_count_ > 0) {
            // Each block adds its marks to the others', so there are no more than are needed.
            const std::uint64_t most = static_cast<std::uint64_t>(engine_.multiprocessors()) * 4;
            const std::uint64_t blocks = std::min(most, (group_count_ + threads - 1) / threads);
            mark_keys_kernel<<<static_cast<unsigned>(blocks), threads, 0, call.stream()>>>(
                groups_.data(), group_count_, words_, keys, reinterpret_cast<std::uint32_t *>(found.data()));
            check_launch("mark_keys_kernel");
        }
        call.copy(marks, static_cast<const KeyMarks *>(found.data()), 1);
        call.wait();
        return Status{};
    });
}

Status DeviceAggregateAnswer::leave_out(Stream &stream, const AggregateProgram &program,
                                        const SharedKeys &shared, const AggregateTop &top,
                                        std::unique_ptr<AggregateAnswer> *rest) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        check_leaving(program, top);
        if (table_ != nullptr || doubtful_count_ > 0) {
            return make_status(StatusCode::invalid_argument, "the groups aren't listed, or aren't certain");
        }
        auto answer = std::make_unique<DeviceAggregateAnswer>(engine_, words_);
        const Buffer<std::uint64_t> marks = call.buffer<std::uint64_t>(key_mark_words);
        call.copy(marks.data(), shared.marks, key_mark_words);
        FilledTable common = list();
        common.table.key_words = common.key_words = program.key_words;
        common.shared = {marks.data(), shared.key, true};
        FilledTable own = common;
        own.shared.has_marked = false;
        const bool has_shared = std::any_of(std::begin(shared.marks), std::end(shared.marks),
                                            [](auto word) { return word != 0; });
        const std::uint64_t shared_count = has_shared ? count_groups(call, common) : 0;
        // No sum of the records is a narrow one.
        const ProgramView plain = {};
        Buffer<std::uint64_t> listed;
        std::uint64_t groups = 0;
        if (wants_only_counts(top)) {
            answer->set_counted(group_count_ - shared_count);
        } else {
            listed = list_first_groups(call, own, plain, top, false, &groups);
            listed = keep_top(call, top, words_, std::move(listed), &groups);
        }
        if (shared_count > 0) {
            Buffer<std::uint64_t> both = call.buffer<std::uint64_t>((groups + shared_count) * words_);
            call.copy(both.data(), static_cast<const std::uint64_t *>(listed.data()), groups * words_);
            const Buffer<std::uint64_t> some = list_groups(call, common, plain, shared_count);
            call.copy(both.data() + groups * words_, static_cast<const std::uint64_t *>(some.data()),
                      shared_count * words_);
            listed = std::move(both);
            groups += shared_count;
        }
        call.wait();
        answer->take(std::move(listed), groups, Buffer<std::uint64_t>(), 0);
        *rest = std::move(answer);
        return Status{};
    });
}

}  // namespace gpu_engine::device
