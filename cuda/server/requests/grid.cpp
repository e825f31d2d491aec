// Requests about runs of points: boxes and exact matches.
#include "server/requests/results.h"
#include "server/requests/run_set.h"

namespace gpu_engine::server {
namespace {

// Makes sure that what is asked has keys of the widths that the files read.
void require_columns(const RunSet &runs, std::uint32_t columns, const std::uint8_t *key_bytes) {
    if (columns > max_grid_columns) {
        refuse("points have more columns than a grid");
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs.is_here(i)) {
            continue;
        }
        const GridFile &file = runs.grid(i);
        bool same = file.shape().columns == columns;
        for (std::uint32_t c = 0; same && c < columns; ++c) {
            same = file.key_bytes(c) == key_bytes[c];
        }
        if (!same) {
            refuse("the run has other columns");
        }
    }
}

// Finds `count` keys of a width.
const void *keys_at(const TransferBuffer &buffer, std::uint64_t offset, std::uint64_t count,
                    std::uint32_t key_bytes) {
    switch (key_bytes) {
        case 4:
            return buffer.part<std::uint32_t>(offset, count);
        case 8:
            return buffer.part<std::uint64_t>(offset, count);
        default:
            refuse("keys of points have 4 or 8 bytes");
    }
}

GridBoxes boxes_at(const TransferBuffer &buffer, const protocol::BoxesPlace &place) {
    GridBoxes boxes = {};
    for (std::uint32_t c = 0; c < place.columns; ++c) {
        if (place.low[c] == protocol::nowhere && place.high[c] == protocol::nowhere) {
            continue;
        }
        boxes.low[c] = keys_at(buffer, place.low[c], place.count, place.key_bytes[c]);
        boxes.high[c] = keys_at(buffer, place.high[c], place.count, place.key_bytes[c]);
    }
    if (place.open != protocol::nowhere) {
        boxes.open = buffer.part<std::uint8_t>(place.open, place.count);
    }
    if (place.null != protocol::nowhere) {
        boxes.null = buffer.part<std::uint8_t>(place.null, place.count);
    }
    return boxes;
}

}  // namespace

void handle_search_grid(Work &work, const protocol::SearchGrid &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, grid_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    require_columns(runs, request.boxes.columns, request.boxes.key_bytes);
    const TransferBuffer &buffer = work.connection.buffer;
    const GridBoxes boxes = boxes_at(buffer, request.boxes);
    const std::uint64_t count = request.boxes.count;
    Results results(buffer, request.results, request.capacity);
    write_entries<std::uint32_t>(
        work, runs, count, results, reply,
        [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
            return runs.grid(i).search(*work.stream, boxes, count, offsets, tids, capacity);
        },
        nullptr);
}

void handle_count_grid(Work &work, const protocol::CountGrid &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, grid_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    require_columns(runs, request.boxes.columns, request.boxes.key_bytes);
    const GridBoxes boxes = boxes_at(work.connection.buffer, request.boxes);
    const std::uint64_t count = request.boxes.count;
    const CountPlace place = {request.blocks, request.results, request.capacity};
    handle_counts(
        work, runs, count, place, reply,
        [&](std::size_t i, std::uint32_t *counts) {
            return runs.grid(i).count(*work.stream, boxes, count, counts);
        },
        [&](std::size_t i, const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets, Tid *tids,
            std::uint64_t capacity) {
            return runs.grid(i).count_on(*work.stream, boxes, count, blocks, counts, offsets, tids, capacity);
        });
}

void handle_match_grid(Work &work, const protocol::MatchGrid &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, grid_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    require_columns(runs, request.columns, request.key_bytes);
    const TransferBuffer &buffer = work.connection.buffer;
    GridPoints points = {};
    for (std::uint32_t c = 0; c < request.columns; ++c) {
        points.keys[c] = keys_at(buffer, request.keys[c], request.count, request.key_bytes[c]);
    }
    Results results(buffer, request.results, request.capacity);
    write_entries<std::uint32_t>(
        work, runs, request.count, results, reply,
        [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
            return runs.grid(i).match(*work.stream, points, request.count, offsets, tids, capacity);
        },
        nullptr);
}

}  // namespace gpu_engine::server
