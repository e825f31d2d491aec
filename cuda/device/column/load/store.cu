// Counting and matching rows on the device.
#include "device/column/load/store.h"

#include "device/column/select/target.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

Status too_many() {
    return make_status(StatusCode::insufficient_space, "more rows match than there is space for");
}

}  // namespace

Status DeviceColumnStore::count(Stream &stream, const ColumnTest *tests, std::uint32_t test_count,
                                const ColumnTarget &target, const HeapBlocks *blocks, std::uint64_t *counts,
                                UnresolvedRow *unresolved, std::uint64_t capacity,
                                std::uint64_t *found) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const DeadBitmap *dead_rows = call.keep(dead());
        HeldBuffers held;
        Target prepared(call, parts_, target);
        Selection selection = select_rows(call, parts_, dead_rows, tests, test_count, &held);
        Buffer<std::uint64_t> unresolved_rows;
        volatile std::uint64_t *output = call.result();
        *output = 0;
        if (blocks != nullptr) {
            const std::uint64_t *nulls =
                target.kind == TargetKind::bounds ? parts_.null_bits(target.column) : nullptr;
            const Buffer<std::uint64_t> device_found = call.buffer<std::uint64_t>(1);
            call.fill(device_found.data(), 0, sizeof(std::uint64_t));
            unresolved_rows = split_unresolved(call, parts_, known_of(*blocks), nulls, selection,
                                               device_found.data(), &held);
            call.copy(const_cast<std::uint64_t *>(output),
                      static_cast<const std::uint64_t *>(device_found.data()), 1);
        }
        prepared.count(selection, counts);
        call.wait();
        *found = *output;
        if (*found > capacity) {
            return too_many();
        }
        if (*found > 0) {
            list_unresolved(call, parts_, prepared.view(), unresolved_rows, *found, unresolved);
        }
        return Status{};
    });
}

Status DeviceColumnStore::match(Stream &stream, const ColumnTest *tests, std::uint32_t test_count, Tid *tids,
                                std::uint64_t capacity, std::uint64_t *found) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const DeadBitmap *dead_rows = call.keep(dead());
        HeldBuffers held;
        const Selection selection = select_rows(call, parts_, dead_rows, tests, test_count, &held);
        const Buffer<std::uint64_t> count = call.buffer<std::uint64_t>(1);
        call.fill(count.data(), 0, sizeof(std::uint64_t));
        count_selected(call, selection, count.data());
        call.copy(const_cast<std::uint64_t *>(call.result()),
                  static_cast<const std::uint64_t *>(count.data()), 1);
        call.wait();
        *found = *call.result();
        if (*found > capacity) {
            return too_many();
        }
        if (*found > 0) {
            list_tids(call, parts_, selection.words, *found, tids);
        }
        return Status{};
    });
}

}  // namespace gpu_engine::device
