// Files and requests on a machine, and the bytes that requests can't do without.
#pragma once

#include <random>

#include "bench/grid/experiments.h"
#include "host/grid/visit.h"

namespace gpu_engine::bench {

class Subject {
  public:
    Subject(const Bench &bench, PointSet points) : bench_(bench), points_(std::move(points)) {
        entries_.columns = points_.columns();
        entries_.count = points_.count();
        for (std::uint32_t c = 0; c < points_.columns(); ++c) {
            entries_.key_bytes[c] = 4;
            entries_.keys[c] = put(points_.keys[c].data(), points_.count() * sizeof(std::uint32_t));
        }
        entries_.tids = static_cast<const Tid *>(put(points_.tids.data(), points_.count() * sizeof(Tid)));
    }

    const PointSet &points() const { return points_; }
    const GridEntries &entries() const { return entries_; }
    // Returns the same entries in the host's memory.
    GridEntries host_entries() const {
        GridEntries result = entries_;
        for (std::uint32_t c = 0; c < points_.columns(); ++c) {
            result.keys[c] = points_.keys[c].data();
        }
        result.tids = points_.tids.data();
        return result;
    }
    std::unique_ptr<GridFile> build(const GridOptions &options = {}) const {
        std::unique_ptr<GridFile> file;
        require(bench_.machine.engine().grid().build(bench_.machine.stream(), entries_, options, &file));
        return file;
    }
    // Puts bytes into the machine's memory, where they stay until the subject ends.
    void *put(const void *from, std::uint64_t bytes) {
        kept_.push_back(bench_.machine.store(bytes));
        bench_.machine.write(kept_.back()->data(), from, bytes);
        return kept_.back()->data();
    }
    void *take(std::uint64_t bytes) {
        kept_.push_back(bench_.machine.store(bytes));
        return kept_.back()->data();
    }
    std::vector<std::uint32_t> read(const std::uint32_t *numbers, std::uint64_t count) const {
        std::vector<std::uint32_t> result(count);
        bench_.machine.read(result.data(), numbers, count * sizeof(std::uint32_t));
        return result;
    }

  private:
    const Bench &bench_;
    PointSet points_;
    GridEntries entries_ = {};
    std::vector<std::unique_ptr<Storage>> kept_;
};

// A batch of boxes around points of the file, or anywhere. Points are boxes without sides.
struct Requests {
    std::vector<std::vector<std::uint32_t>> low;
    std::vector<std::vector<std::uint32_t>> high;

    std::uint64_t count() const { return low[0].size(); }
};

// Chooses existing points.
inline Requests choose_points(const PointSet &points, std::uint64_t count) {
    Requests result = {std::vector(points.columns(), std::vector<std::uint32_t>(count)), {}};
    std::mt19937_64 random(11);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t from = random() % points.count();
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            result.low[c][i] = points.keys[c][from];
        }
    }
    result.high = result.low;
    return result;
}

// Makes boxes whose sides are this share of the whole range, and whose middles are existing points.
inline Requests choose_boxes(const PointSet &points, std::uint64_t count, double side) {
    Requests result = choose_points(points, count);
    const auto half = static_cast<std::uint32_t>(side / 2 * UINT32_MAX);
    for (std::uint32_t c = 0; c < points.columns(); ++c) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint32_t middle = result.low[c][i];
            result.low[c][i] = middle < half ? 0 : middle - half;
            result.high[c][i] = middle > UINT32_MAX - half ? UINT32_MAX : middle + half;
        }
    }
    return result;
}

// The bytes of directory and entries that a request must read, on average: the words at the ends of each run
// of cells, and all keys of the entries in cells that aren't inside. The host's walk through a file of the
// same scales finds them.
class Limits {
  public:
    Limits(const GridEntries &entries, const GridOptions &options) {
        require(host::open_engine({}, &engine_));
        require(engine_->open_stream(&stream_));
        require(engine_->grid().build(*stream_, entries, options, &file_));
    }
    double bytes(const Requests &requests) const {
        const host::GridParts &parts = static_cast<const host::HostGridFile &>(*file_).parts();
        constexpr std::uint64_t looked_at = 2000;
        const std::uint64_t step = std::max<std::uint64_t>(requests.count() / looked_at, 1);
        Sink sink;
        std::uint64_t number = 0;
        std::uint64_t words = 0;
        for (std::uint64_t i = 0; i < requests.count(); i += step) {
            host::Box box;
            box.bounded = (1U << parts.columns) - 1;
            for (std::uint32_t c = 0; c < parts.columns; ++c) {
                box.low[c] = requests.low[c][i];
                box.high[c] = requests.high[c][i];
            }
            const host::GridScales scales = parts.first_level();
            const host::Rows rows = host::rows_of(parts, scales, box, box.bounded, 0);
            host::BoxWalk<Sink>(parts, box, sink).visit(scales, rows, 0, rows.count);
            const host::Span &along = rows.spans[parts.columns - 1];
            words += rows.count * std::min<std::uint64_t>(along.size() + 1, 4);
            ++number;
        }
        return (static_cast<double>(words) * sizeof(std::uint32_t) +
                static_cast<double>(sink.entries) * parts.columns * sizeof(std::uint32_t)) /
               static_cast<double>(number);
    }

  private:
    struct Sink {
        std::uint64_t entries = 0;
        void run(std::uint64_t, std::uint64_t) {}
        void tested(std::uint64_t first, std::uint64_t last, std::uint32_t) { entries += last - first; }
    };
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
    std::unique_ptr<GridFile> file_;
};

}  // namespace gpu_engine::bench
