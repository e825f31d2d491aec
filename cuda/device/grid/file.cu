// The entry points of a device's grid files. Batches are cut into pieces, each of which ends with a
// cancellation point.
#include "device/grid/file.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "device/cub_calls.cuh"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

// A piece has so many requests: some milliseconds of work where results are small.
constexpr std::uint64_t piece_points = std::uint64_t(1) << 24;
constexpr std::uint64_t piece_boxes = std::uint64_t(1) << 19;

// The caller's arrays of keys, which are brought to the device a piece at a time.
class KeyInputs {
  public:
    void add(const Call &call, std::uint32_t column, const void *keys, bool wide, std::uint64_t count,
             std::uint64_t piece) {
        bytes_[column] = wide ? 8 : 4;
        inputs_[column].emplace(call, static_cast<const char *>(keys), count * bytes_[column],
                                piece * bytes_[column]);
    }
    const void *piece(std::uint32_t column, std::uint64_t first, std::uint64_t count) const {
        return inputs_[column] ? inputs_[column]->piece(first * bytes_[column], count * bytes_[column])
                               : nullptr;
    }

  private:
    std::optional<Input<char>> inputs_[max_grid_columns];
    std::uint64_t bytes_[max_grid_columns] = {};
};

class PointInputs {
  public:
    PointInputs(const Call &call, const GridPoints &points, const GridParts &parts, std::uint64_t count)
        : columns_(parts.columns), count_(count) {
        for (std::uint32_t c = 0; c < columns_; ++c) {
            const bool wide = !parts.narrow && (parts.view64.wide >> c & 1) != 0;
            keys_.add(call, c, points.keys[c], wide, count, piece_points);
        }
    }
    // Calls run(batch, number of its first point) for all pieces.
    template <typename Run>
    void for_pieces(const Call &call, Run run) const {
        for (std::uint64_t first = 0; first < count_; first += piece_points) {
            PointBatch batch = {};
            batch.count = std::min(piece_points, count_ - first);
            for (std::uint32_t c = 0; c < columns_; ++c) {
                batch.keys[c] = keys_.piece(c, first, batch.count);
            }
            run(batch, first);
            call.wait();
        }
    }

  private:
    KeyInputs keys_;
    std::uint32_t columns_;
    std::uint64_t count_;
};

class BoxInputs {
  public:
    BoxInputs(const Call &call, const GridBoxes &boxes, const GridParts &parts, std::uint64_t count)
        : columns_(parts.columns), unbounded_(unbounded_columns(boxes, parts.columns)), count_(count) {
        for (std::uint32_t c = 0; c < columns_; ++c) {
            if (boxes.low[c] != nullptr && count > 0) {
                const bool wide = !parts.narrow && (parts.view64.wide >> c & 1) != 0;
                low_.add(call, c, boxes.low[c], wide, count, piece_boxes);
                high_.add(call, c, boxes.high[c], wide, count, piece_boxes);
            }
        }
        if (boxes.open != nullptr) {
            open_.emplace(call, boxes.open, count, piece_boxes);
        }
        if (boxes.null != nullptr) {
            null_.emplace(call, boxes.null, count, piece_boxes);
        }
    }
    // Calls run(batch, number of its first box) for all pieces.
    template <typename Run>
    void for_pieces(const Call &call, Run run) const {
        for (std::uint64_t first = 0; first < count_; first += piece_boxes) {
            BoxBatch batch = {};
            batch.count = std::min(piece_boxes, count_ - first);
            batch.unbounded = unbounded_;
            for (std::uint32_t c = 0; c < columns_; ++c) {
                batch.low[c] = low_.piece(c, first, batch.count);
                batch.high[c] = high_.piece(c, first, batch.count);
            }
            batch.open = open_ ? open_->piece(first, batch.count) : nullptr;
            batch.null = null_ ? null_->piece(first, batch.count) : nullptr;
            run(batch, first);
            call.wait();
        }
    }

  private:
    KeyInputs low_;
    KeyInputs high_;
    std::optional<Input<std::uint8_t>> open_;
    std::optional<Input<std::uint8_t>> null_;
    std::uint32_t columns_;
    std::uint32_t unbounded_;
    std::uint64_t count_;
};

// Turns the numbers of found entries into offsets for the caller. There are count + 1 places, of which the
// last is ignored.
struct Places {
    Buffer<std::uint64_t> offsets;
    std::uint64_t total;
};
template <typename Number>
Places place_results(const Call &call, Number *numbers, std::uint64_t count, std::uint64_t *offsets) {
    call.fill(numbers + count, 0, sizeof(Number));
    Places places = {call.buffer<std::uint64_t>(count + 1), 0};
    exclusive_sums(call, static_cast<const Number *>(numbers), places.offsets.data(), count + 1);
    call.copy(offsets, static_cast<const std::uint64_t *>(places.offsets.data()), count + 1);
    places.total = read_element(call, static_cast<const std::uint64_t *>(places.offsets.data() + count));
    return places;
}

Status no_space() {
    return make_status(StatusCode::insufficient_space, "more TIDs match than there is space for");
}

// Writes to `out` when the device reaches it, otherwise to a copy that is brought to the caller last.
class TidOutput {
  public:
    TidOutput(const Call &call, Tid *out, std::uint64_t count) : call_(call), out_(out), count_(count) {
        if (count > 0) {
            direct_ = static_cast<Tid *>(device_address(out, count * sizeof(Tid) <= direct_bytes));
            if (direct_ == nullptr) {
                copy_ = call.buffer<Tid>(count);
            }
        }
    }
    Tid *data() const { return direct_ != nullptr ? direct_ : copy_.data(); }
    void flush() const {
        if (direct_ == nullptr) {
            call_.copy(out_, static_cast<const Tid *>(copy_.data()), count_);
        }
        call_.wait();
    }

  private:
    const Call &call_;
    Tid *out_;
    std::uint64_t count_;
    Tid *direct_ = nullptr;
    Buffer<Tid> copy_;
};

// Writes the TIDs of `job` for each of `count` boxes to its places.
void write_each(const Call &call, const GridParts &parts, const BoxInputs &boxes, std::uint64_t count,
                const DeadView &dead, const EachJob &job, const Places &places, Tid *tids) {
    const TidOutput output(call, tids, places.total);
    if (places.total > 0) {
        const Buffer<std::uint64_t> cursors = call.buffer<std::uint64_t>(count);
        call.copy(cursors.data(), static_cast<const std::uint64_t *>(places.offsets.data()), count);
        boxes.for_pieces(call, [&](const BoxBatch &batch, std::uint64_t first) {
            EachJob own = job;
            own.cursors = cursors.data() + first;
            own.limits = places.offsets.data() + first + 1;
            own.out = output.data();
            parts.with_view([&](const auto &view) { each_in_boxes(call, view, batch, dead, own); });
        });
    }
    output.flush();
}

// Turns bits of entries as they were given into bits of positions.
__global__ void permute_bits_kernel(const std::uint64_t *bitmap, const std::uint32_t *order,
                                    std::uint64_t entries, std::uint32_t *words) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    bool bit = false;
    if (i < entries) {
        const std::uint32_t given = order[i];
        bit = (bitmap[given / 64] >> (given % 64) & 1) != 0;
    }
    const unsigned bits = __ballot_sync(0xffffffffU, bit);
    if (i % 32 == 0 && i < (entries + 63) / 64 * 64) {
        words[i / 32] = bits;
    }
}

__global__ void widen_kernel(const std::uint32_t *numbers, std::uint64_t count, std::uint64_t *wide) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        wide[i] = numbers[i];
    }
}

}  // namespace

std::uint64_t GridParts::directory_bytes() const noexcept {
    std::uint64_t bytes = directory.bytes() + grids.bytes() + top.bytes() + lower_scales.bytes();
    for (const Buffer<char> &scale : scales) {
        bytes += scale.bytes();
    }
    return bytes;
}

std::uint64_t GridParts::bytes() const noexcept {
    std::uint64_t bytes = directory_bytes() + tids.bytes() + order.bytes();
    for (const Buffer<char> &column : keys) {
        bytes += column.bytes();
    }
    return bytes;
}

void GridParts::set_stream(cudaStream_t stream) noexcept {
    for (std::uint32_t c = 0; c < max_grid_columns; ++c) {
        keys[c].set_stream(stream);
        scales[c].set_stream(stream);
    }
    tids.set_stream(stream);
    order.set_stream(stream);
    directory.set_stream(stream);
    grids.set_stream(stream);
    top.set_stream(stream);
    lower_scales.set_stream(stream);
}

DeviceGridFile::DeviceGridFile(const Call &call, GridParts parts)
    : DeviceStore(call.engine(), parts.entries), parts_(std::move(parts)) {
    call.wait();
    parts_.set_stream(engine_.release_stream());
    parts_.shape.directory_bytes = parts_.directory_bytes();
}

std::uint64_t DeviceGridFile::bytes() const noexcept {
    return parts_.bytes() + dead_bytes();
}

Status DeviceGridFile::set_dead(Stream &stream, const std::uint64_t *bitmap, std::uint64_t version) noexcept {
    if (bitmap == nullptr || parts_.entries == 0) {
        return DeviceStore::set_dead(stream, nullptr, version);
    }
    return guarded([&] {
        const Call call(engine_, stream);
        const std::uint64_t words = (parts_.entries + 63) / 64;
        const Input<std::uint64_t> input(call, bitmap, words, words);
        const Buffer<std::uint64_t> permuted = call.buffer<std::uint64_t>(words);
        permute_bits_kernel<<<blocks_for(words * 64), threads_a_block, 0, call.stream()>>>(
            input.piece(0, words), parts_.order.data(), parts_.entries,
            reinterpret_cast<std::uint32_t *>(permuted.data()));
        check_launch("permute_bits_kernel");
        return DeviceStore::set_dead(stream, permuted.data(), version);
    });
}

Status DeviceGridFile::match(Stream &stream, const GridPoints &points, std::uint64_t count,
                             std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        require_ok(check_points(points, parts_.columns, count));
        const Call call(engine_, stream);
        const DeadView view_of_dead = dead_view(call);
        const Buffer<std::uint32_t> found = call.buffer<std::uint32_t>(count + 1);
        const Buffer<std::uint32_t> at = call.buffer<std::uint32_t>(count);
        call.fill(found.data(), 0, (count + 1) * sizeof(std::uint32_t));
        const PointInputs inputs(call, points, parts_, count);
        if (parts_.entries > 0) {
            inputs.for_pieces(call, [&](const PointBatch &batch, std::uint64_t first) {
                parts_.with_view([&](const auto &view) {
                    count_matches(call, view, batch, view_of_dead, found.data() + first, at.data() + first);
                });
            });
        }
        const Places places = place_results(call, found.data(), count, offsets);
        if (places.total > capacity) {
            return no_space();
        }
        const TidOutput output(call, tids, places.total);
        if (places.total > 0) {
            inputs.for_pieces(call, [&](const PointBatch &batch, std::uint64_t first) {
                parts_.with_view([&](const auto &view) {
                    write_matches(call, view, batch, view_of_dead, found.data() + first, at.data() + first,
                                  parts_.tids.data(), places.offsets.data() + first, output.data());
                });
            });
        }
        output.flush();
        return Status{};
    });
}

Status DeviceGridFile::count(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                             std::uint32_t *counts) const noexcept {
    return guarded([&] {
        require_ok(check_boxes(boxes, parts_.columns));
        const Call call(engine_, stream);
        const DeadView view_of_dead = dead_view(call);
        const Buffer<std::uint32_t> found = call.buffer<std::uint32_t>(std::min(count, piece_boxes));
        BoxInputs(call, boxes, parts_, count)
            .for_pieces(call, [&](const BoxBatch &batch, std::uint64_t first) {
                if (parts_.entries > 0) {
                    parts_.with_view([&](const auto &view) {
                        count_boxes(call, view, batch, view_of_dead, found.data());
                    });
                } else {
                    call.fill(found.data(), 0, batch.count * sizeof(std::uint32_t));
                }
                call.copy(counts + first, static_cast<const std::uint32_t *>(found.data()), batch.count);
            });
        return Status{};
    });
}

Status DeviceGridFile::search(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                              std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        require_ok(check_boxes(boxes, parts_.columns));
        const Call call(engine_, stream);
        const DeadView view_of_dead = dead_view(call);
        const Buffer<std::uint32_t> found = call.buffer<std::uint32_t>(count + 1);
        call.fill(found.data(), 0, (count + 1) * sizeof(std::uint32_t));
        const BoxInputs inputs(call, boxes, parts_, count);
        if (parts_.entries > 0) {
            inputs.for_pieces(call, [&](const BoxBatch &batch, std::uint64_t first) {
                parts_.with_view([&](const auto &view) {
                    count_boxes(call, view, batch, view_of_dead, found.data() + first);
                });
            });
        }
        const Places places = place_results(call, found.data(), count, offsets);
        if (places.total > capacity) {
            return no_space();
        }
        EachJob job = {};
        job.tids = parts_.tids.data();
        write_each(call, parts_, inputs, count, view_of_dead, job, places, tids);
        return Status{};
    });
}

Status DeviceGridFile::count_on(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                                const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                                Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        require_ok(check_boxes(boxes, parts_.columns));
        const Call call(engine_, stream);
        const DeadView view_of_dead = dead_view(call);
        const KnownBlocks &known = known_of(blocks);
        // The number of visible entries for each box lies in front of that of entries elsewhere: together, so
        // that a file with few entries takes one wait.
        const Buffer<std::uint64_t> found = call.buffer<std::uint64_t>(2 * count);
        std::uint64_t *const on = found.data();
        std::uint64_t *const elsewhere = on + count;
        call.fill(on, 0, found.bytes());
        const BoxInputs inputs(call, boxes, parts_, count);
        EachJob job = {};
        job.tids = parts_.tids.data();
        job.by_block = true;
        job.known = known;
        const bool no_look =
            parts_.entries > 0 && count > 0 && parts_.last_block < all_visible_before(blocks);
        if (no_look) {
            const Buffer<std::uint32_t> narrow = call.buffer<std::uint32_t>(std::min(count, piece_boxes));
            inputs.for_pieces(call, [&](const BoxBatch &batch, std::uint64_t first) {
                parts_.with_view(
                    [&](const auto &view) { count_boxes(call, view, batch, view_of_dead, narrow.data()); });
                widen_kernel<<<blocks_for(batch.count), threads_a_block, 0, call.stream()>>>(
                    narrow.data(), batch.count, on + first);
                check_launch("widen_kernel");
            });
        } else if (parts_.entries > 0) {
            inputs.for_pieces(call, [&](const BoxBatch &batch, std::uint64_t first) {
                EachJob own = job;
                own.on = on + first;
                own.elsewhere = elsewhere + first;
                parts_.with_view(
                    [&](const auto &view) { each_in_boxes(call, view, batch, view_of_dead, own); });
            });
        }
        std::vector<std::uint64_t> numbers(2 * count);
        call.read(numbers.data(), found.data(), numbers.size());
        std::copy_n(numbers.begin(), count, counts);
        // The offsets may lie where others write, so the device gets the ones that were computed.
        numbers.push_back(0);
        const auto first_offset = numbers.begin() + static_cast<std::ptrdiff_t>(count);
        std::exclusive_scan(first_offset, numbers.end(), first_offset, std::uint64_t(0));
        std::copy(first_offset, numbers.end(), offsets);
        if (numbers.back() > capacity) {
            return no_space();
        }
        if (numbers.back() > 0) {
            const Places places = {call.buffer<std::uint64_t>(count + 1), numbers.back()};
            call.copy(places.offsets.data(), std::to_address(first_offset), count + 1);
            write_each(call, parts_, inputs, count, view_of_dead, job, places, tids);
        }
        return Status{};
    });
}

Status DeviceGrid::build(Stream &stream, const GridEntries &entries, const GridOptions &options,
                         std::unique_ptr<GridFile> *file) noexcept {
    return guarded([&] {
        require_ok(check_grid(entries, options));
        const Call call(engine_, stream);
        GridParts parts;
        if (entries.count > 0) {
            parts = build_grid(call, entries, options);
        } else {
            parts.columns = entries.columns;
            parts.shape.columns = entries.columns;
            parts.shape.levels = 1;
            parts.shape.grids = 1;
            for (std::uint32_t c = 0; c < entries.columns; ++c) {
                if (entries.key_bytes[c] == 8) {
                    parts.narrow = false;
                    parts.view64.wide |= 1U << c;
                }
            }
        }
        *file = std::make_unique<DeviceGridFile>(call, std::move(parts));
        return Status{};
    });
}

}  // namespace gpu_engine::device
