// Requests to a grid file.
#include <atomic>

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/grid/file.h"
#include "host/grid/hits.h"
#include "host/grid/visit.h"
#include "host/heap_blocks.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t points_a_piece = 1 << 10;
// A batch of fewer boxes is cut into parts of boxes, so that all threads share each box.
constexpr std::uint64_t many_boxes = 64;
constexpr std::uint64_t parts_of_a_box = 64;
constexpr std::uint64_t boxes_a_piece = 4;

struct Parts {
    std::uint64_t a_box;
    std::uint64_t grain;
};
Parts parts_for(std::uint64_t boxes) {
    return boxes < many_boxes ? Parts{parts_of_a_box, 1} : Parts{1, boxes_a_piece};
}

std::uint64_t read_key(const void *keys, bool wide, std::uint64_t i) noexcept {
    return wide ? static_cast<const std::uint64_t *>(keys)[i] : static_cast<const std::uint32_t *>(keys)[i];
}

// Walks through one of `parts` parts of a box's rows.
template <typename Sink>
void walk(const GridParts &grid, const Box &box, std::uint64_t part, std::uint64_t parts, Sink &sink) {
    const GridScales first_level = grid.first_level();
    const Rows rows = rows_of(grid, first_level, box, box.bounded, box.null_only);
    BoxWalk<Sink>(grid, box, sink)
        .visit(first_level, rows, rows.count * part / parts, rows.count * (part + 1) / parts);
}

// Returns the cell of the last level that a point belongs to, as positions.
KaryRange leaf_of(const GridParts &grid, const Box &point) noexcept {
    GridScales scales = grid.first_level();
    for (;;) {
        std::uint64_t cell = 0;
        for (std::uint32_t c = 0; c < grid.columns; ++c) {
            cell = cell * scales.columns[c].all_slots() + scales.columns[c].slot_of(point.low[c]);
        }
        cell += scales.first_cell;
        const std::uint32_t word = grid.directory[cell];
        if ((word & has_grid) == 0) {
            return {word, grid.position(cell + 1)};
        }
        scales = grid.lower(word & ~has_grid);
    }
}

// The positions of a point's leaf that must be compared. If the leaf has so many entries that they are all
// alike, these are all of its positions or none, and nothing is left to compare.
KaryRange candidates_of(const GridParts &grid, const Box &point, std::uint32_t *tested) noexcept {
    KaryRange leaf = leaf_of(grid, point);
    *tested = point.bounded;
    if (leaf.last - leaf.first > grid.max_in_a_cell) {
        for (std::uint32_t c = 0; c < grid.columns; ++c) {
            if (grid.keys[c].key(leaf.first) != point.low[c]) {
                leaf.last = leaf.first;
            }
        }
        *tested = 0;
    }
    return leaf;
}

struct CountSink {
    HitTest test;
    const DeadBitmap *dead;
    std::uint64_t found = 0;

    void run(std::uint64_t first, std::uint64_t last) {
        found += live_entries({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)}, dead);
    }
    void tested(std::uint64_t first, std::uint64_t last, std::uint32_t columns) {
        found += test.count(first, last, columns);
    }
};

template <typename Each>
struct EachSink {
    HitTest test;
    Each each;

    void run(std::uint64_t first, std::uint64_t last) { test.for_each(first, last, 0, each); }
    void tested(std::uint64_t first, std::uint64_t last, std::uint32_t columns) {
        test.for_each(first, last, columns, each);
    }
};
template <typename Each>
EachSink(HitTest, Each) -> EachSink<Each>;

}  // namespace

GridScales GridParts::first_level() const noexcept {
    GridScales result;
    for (std::uint32_t c = 0; c < columns; ++c) {
        result.columns[c] = {scales[c].data(), slots[c], (null_columns >> c & 1) != 0};
    }
    result.first_cell = 0;
    return result;
}

GridScales GridParts::lower(std::uint32_t number) const noexcept {
    const LowerGrid &grid = grids[number];
    GridScales result;
    std::uint64_t at = grid.first_scale;
    for (std::uint32_t c = 0; c < columns; ++c) {
        result.columns[c] = {lower_scales.data() + at, grid.last_slot[c] + 1U, false};
        at += grid.last_slot[c];
    }
    result.first_cell = grid.first_cell;
    return result;
}

Box HostGridFile::read_box(const GridBoxes &boxes, std::uint64_t i) const noexcept {
    const std::uint32_t open = boxes.open != nullptr ? boxes.open[i] : 0;
    const std::uint32_t null_only = boxes.null != nullptr ? boxes.null[i] : 0;
    Box box = {};
    for (std::uint32_t c = 0; c < parts_.columns; ++c) {
        if ((open >> c & 1) != 0) {
            continue;
        }
        if ((null_only >> c & 1) != 0) {
            box.null_only |= 1U << c;
        } else if (boxes.low[c] != nullptr) {
            box.low[c] = read_key(boxes.low[c], parts_.keys[c].is_wide, i);
            box.high[c] = read_key(boxes.high[c], parts_.keys[c].is_wide, i);
            box.bounded |= 1U << c;
        }
    }
    return box;
}

Box HostGridFile::read_point(const GridPoints &points, std::uint64_t i) const noexcept {
    Box box = {};
    for (std::uint32_t c = 0; c < parts_.columns; ++c) {
        box.low[c] = box.high[c] = read_key(points.keys[c], parts_.keys[c].is_wide, i);
    }
    box.bounded = (1U << parts_.columns) - 1;
    return box;
}

std::uint64_t HostGridFile::bytes() const noexcept {
    std::uint64_t bytes = shape().directory_bytes + parts_.tids.bytes() + parts_.order.bytes();
    for (const GridColumn &column : parts_.keys) {
        bytes += column.bytes();
    }
    return bytes + dead_bytes();
}

GridShape HostGridFile::shape() const noexcept {
    GridShape shape = {};
    shape.columns = parts_.columns;
    shape.levels = parts_.levels;
    shape.cells = parts_.cells;
    shape.grids = parts_.grid_count + 1;
    shape.directory_bytes = parts_.directory.bytes() + parts_.grids.bytes() + parts_.lower_scales.bytes();
    for (std::uint32_t c = 0; c < parts_.columns; ++c) {
        shape.slots[c] = parts_.slots[c] + (parts_.null_columns >> c & 1);
        shape.directory_bytes += parts_.scales[c].bytes();
    }
    return shape;
}

Status HostGridFile::set_dead(Stream &stream, const std::uint64_t *bitmap, std::uint64_t version) noexcept {
    if (bitmap == nullptr) {
        return HostStore::set_dead(stream, nullptr, version);
    }
    return guarded([&] {
        // The bitmap's order is that of the entries as they were given; here it becomes that of the cells.
        Buffer<std::uint64_t> words(engine_.memory(), (parts_.entries + 63) / 64);
        engine_.workers(stream).for_pieces(
            words.size(), 1 << 12, [&](std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t word = first; word < last; ++word) {
                    std::uint64_t bits = 0;
                    const std::uint64_t end = std::min(word * 64 + 64, parts_.entries);
                    for (std::uint64_t i = word * 64; i < end; ++i) {
                        const std::uint64_t given = parts_.order[i];
                        bits |= (bitmap[given / 64] >> (given % 64) & 1) << (i % 64);
                    }
                    words[word] = bits;
                }
            });
        return HostStore::set_dead(stream, words.data(), version);
    });
}

template <typename Visit>
Status HostGridFile::write_tids(const Workers &workers, std::uint64_t count, std::uint64_t parts,
                                std::uint64_t grain, const Visit &visit, std::uint64_t *offsets, Tid *tids,
                                std::uint64_t capacity) const {
    const std::uint64_t pieces = count * parts;
    Buffer<std::uint64_t> places(engine_.memory(), pieces + 1);
    workers.for_pieces(pieces, grain, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t piece = first; piece < last; ++piece) {
            std::uint64_t found = 0;
            visit(
                piece, true, [&](std::uint64_t) { ++found; }, &found);
            places[piece] = found;
        }
    });
    std::uint64_t total = 0;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
        const std::uint64_t found = places[piece];
        places[piece] = total;
        total += found;
    }
    places[pieces] = total;
    for (std::uint64_t i = 0; i <= count; ++i) {
        offsets[i] = places[i * parts];
    }
    if (total > capacity) {
        return make_status(StatusCode::insufficient_space, "more TIDs match than there is space for");
    }
    workers.for_pieces(pieces, grain, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t piece = first; piece < last; ++piece) {
            std::uint64_t place = places[piece];
            // The request may have changed since its entries were counted, so nothing is written beyond the
            // piece's own places.
            const std::uint64_t end = places[piece + 1];
            visit(
                piece, false,
                [&](std::uint64_t position) {
                    if (place < end) {
                        tids[place++] = parts_.tids[position];
                    }
                },
                nullptr);
        }
    });
    return {};
}

Status HostGridFile::match(Stream &stream, const GridPoints &points, std::uint64_t count,
                           std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        require_ok(check_points(points, parts_.columns, count));
        if (parts_.entries == 0) {
            std::fill_n(offsets, count + 1, 0);
            return Status{};
        }
        const std::shared_ptr<const DeadBitmap> dead = this->dead();
        const auto visit = [&](std::uint64_t i, bool, const auto &each, std::uint64_t *) {
            const Box point = read_point(points, i);
            std::uint32_t tested = 0;
            const KaryRange leaf = candidates_of(parts_, point, &tested);
            HitTest(parts_, dead.get(), point).for_each(leaf.first, leaf.last, tested, each);
        };
        return write_tids(engine_.workers(stream), count, 1, points_a_piece, visit, offsets, tids, capacity);
    });
}

Status HostGridFile::count(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                           std::uint32_t *counts) const noexcept {
    return guarded([&] {
        require_ok(check_boxes(boxes, parts_.columns));
        std::fill_n(counts, count, 0);
        if (parts_.entries == 0) {
            return Status{};
        }
        const std::shared_ptr<const DeadBitmap> dead = this->dead();
        const Parts parts = parts_for(count);
        engine_.workers(stream).for_pieces(
            count * parts.a_box, parts.grain, [&](std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t piece = first; piece < last; ++piece) {
                    const Box box = read_box(boxes, piece / parts.a_box);
                    CountSink sink = {HitTest(parts_, dead.get(), box), dead.get()};
                    walk(parts_, box, piece % parts.a_box, parts.a_box, sink);
                    std::atomic_ref(counts[piece / parts.a_box])
                        .fetch_add(static_cast<std::uint32_t>(sink.found), std::memory_order_relaxed);
                }
            });
        return Status{};
    });
}

Status HostGridFile::search(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                            std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        require_ok(check_boxes(boxes, parts_.columns));
        if (parts_.entries == 0) {
            std::fill_n(offsets, count + 1, 0);
            return Status{};
        }
        const std::shared_ptr<const DeadBitmap> dead = this->dead();
        const Parts parts = parts_for(count);
        const auto visit = [&](std::uint64_t piece, bool number_only, const auto &each,
                               std::uint64_t *found) {
            const Box box = read_box(boxes, piece / parts.a_box);
            if (number_only) {
                CountSink sink = {HitTest(parts_, dead.get(), box), dead.get()};
                walk(parts_, box, piece % parts.a_box, parts.a_box, sink);
                *found = sink.found;
            } else {
                EachSink sink = {HitTest(parts_, dead.get(), box), each};
                walk(parts_, box, piece % parts.a_box, parts.a_box, sink);
            }
        };
        return write_tids(engine_.workers(stream), count, parts.a_box, parts.grain, visit, offsets, tids,
                          capacity);
    });
}

Status HostGridFile::count_on(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                              const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                              Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        require_ok(check_boxes(boxes, parts_.columns));
        const KnownBlocks &known = known_of(blocks);
        std::fill_n(counts, count, 0);
        if (parts_.entries == 0) {
            std::fill_n(offsets, count + 1, 0);
            return Status{};
        }
        const std::shared_ptr<const DeadBitmap> dead = this->dead();
        const Parts parts = parts_for(count);
        const auto visit = [&](std::uint64_t piece, bool number, const auto &each, std::uint64_t *) {
            const Box box = read_box(boxes, piece / parts.a_box);
            std::uint64_t on = 0;
            EachSink sink = {HitTest(parts_, dead.get(), box), [&](std::uint64_t position) {
                                 const Seen seen = look_up(known, parts_.tids[position]);
                                 on += seen == Seen::yes ? 1 : 0;
                                 if (seen == Seen::unknown) {
                                     each(position);
                                 }
                             }};
            walk(parts_, box, piece % parts.a_box, parts.a_box, sink);
            if (number) {
                std::atomic_ref(counts[piece / parts.a_box]).fetch_add(on, std::memory_order_relaxed);
            }
        };
        return write_tids(engine_.workers(stream), count, parts.a_box, parts.grain, visit, offsets, tids,
                          capacity);
    });
}

}  // namespace gpu_engine::host
