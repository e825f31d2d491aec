// Grid files as bytes.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "common/grid/image.h"
#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/grid/file.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t magic = 0x31676d4964697247ULL;  // GridImg1
constexpr std::uint64_t bytes_a_piece = 1 << 20;
constexpr std::size_t array_count = 3 * max_grid_columns + 5;

struct ImageHead {
    std::uint64_t magic;
    std::uint64_t bytes;
    std::uint64_t dead_version;
    std::uint64_t dead;  // entries
    std::uint64_t entries;
    std::uint64_t cells;
    std::uint64_t crowded;
    std::uint64_t grid_count;
    std::uint64_t sizes[array_count];  // elements of each array
    std::uint32_t slots[max_grid_columns];
    std::uint32_t columns;
    std::uint32_t max_in_a_cell;
    std::uint32_t levels;
    std::uint32_t null_columns;
    std::uint32_t wide;  // bit c: column c has 64 bits
    std::uint32_t reserved;
};
static_assert(std::is_trivially_copyable_v<ImageHead>);

// Calls body(number, array) for each.
template <typename Parts, typename Body>
void for_arrays(Parts &parts, Body body) {
    std::size_t number = 0;
    for (std::uint32_t c = 0; c < max_grid_columns; ++c) {
        body(number++, parts.keys[c].narrow);
        body(number++, parts.keys[c].wide);
        body(number++, parts.scales[c]);
    }
    body(number++, parts.tids);
    body(number++, parts.order);
    body(number++, parts.directory);
    body(number++, parts.grids);
    body(number++, parts.lower_scales);
}

template <typename Buffer>
using ElementOf = std::remove_cvref_t<decltype(*std::declval<const Buffer &>().data())>;

void copy_bytes(const Workers &workers, void *to, const void *from, std::uint64_t bytes) {
    workers.for_pieces(bytes, bytes_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        std::memcpy(static_cast<char *>(to) + first, static_cast<const char *>(from) + first, last - first);
    });
}

}  // namespace

HostGridFile::HostGridFile(HostEngine &engine, GridParts parts, std::shared_ptr<const DeadBitmap> dead,
                           std::uint64_t dead_version)
    : HostGridFile(engine, std::move(parts)) {
    static_cast<void>(dead_.replace(std::move(dead), dead_version));
}

std::uint64_t HostGridFile::image_bytes() const noexcept {
    ImagePlaces places(sizeof(ImageHead));
    for_arrays(parts_, [&]<typename Array>(std::size_t, const Array &array) {
        places.take(array.size() * sizeof(ElementOf<Array>));
    });
    places.take(dead_words(parts_.entries) * sizeof(std::uint64_t));
    return places.end();
}

Status HostGridFile::write_image(Stream &stream, char *image) const noexcept {
    return guarded([&] {
        const Workers workers = engine_.workers(stream);
        const auto [dead, dead_version] = dead_.get_versioned();
        ImageHead head = {};
        head.magic = magic;
        head.bytes = image_bytes();
        head.dead_version = dead_version;
        head.dead = dead != nullptr ? dead->dead : 0;
        head.entries = parts_.entries;
        head.cells = parts_.cells;
        head.crowded = parts_.crowded;
        head.grid_count = parts_.grid_count;
        std::copy_n(parts_.slots, max_grid_columns, head.slots);
        head.columns = parts_.columns;
        head.max_in_a_cell = parts_.max_in_a_cell;
        head.levels = parts_.levels;
        head.null_columns = parts_.null_columns;
        for (std::uint32_t c = 0; c < parts_.columns; ++c) {
            head.wide |= parts_.keys[c].is_wide ? 1U << c : 0U;
        }
        ImagePlaces places(sizeof(ImageHead));
        for_arrays(parts_, [&]<typename Array>(std::size_t number, const Array &array) {
            head.sizes[number] = array.size();
            const std::uint64_t bytes = array.size() * sizeof(ElementOf<Array>);
            copy_bytes(workers, image + places.take(bytes), array.data(), bytes);
        });
        const std::uint64_t dead_bytes = dead_words(parts_.entries) * sizeof(std::uint64_t);
        if (dead != nullptr) {
            copy_bytes(workers, image + places.take(dead_bytes), dead->words.data(), dead_bytes);
        }
        std::memcpy(image, &head, sizeof(head));
        return Status{};
    });
}

Status HostGrid::load_image(Stream &stream, const char *image, std::uint64_t bytes,
                            std::unique_ptr<GridFile> *file) noexcept {
    return guarded([&] {
        ImageHead head;
        if (bytes < sizeof(head)) {
            return no_image();
        }
        std::memcpy(&head, image, sizeof(head));
        if (head.magic != magic || head.bytes != bytes) {
            return no_image();
        }
        const Workers workers = engine_.workers(stream);
        GridParts parts;
        parts.columns = head.columns;
        parts.max_in_a_cell = head.max_in_a_cell;
        parts.crowded = head.crowded;
        parts.levels = head.levels;
        parts.entries = head.entries;
        parts.cells = head.cells;
        parts.null_columns = head.null_columns;
        parts.grid_count = head.grid_count;
        std::copy_n(head.slots, max_grid_columns, parts.slots);
        for (std::uint32_t c = 0; c < head.columns; ++c) {
            parts.keys[c].is_wide = (head.wide >> c & 1) != 0;
        }
        ImagePlaces places(sizeof(ImageHead));
        for_arrays(parts, [&]<typename Array>(std::size_t number, Array &array) {
            array = Array(engine_.memory(), head.sizes[number]);
            const std::uint64_t array_bytes = array.size() * sizeof(ElementOf<Array>);
            copy_bytes(workers, array.data(), image + places.take(array_bytes), array_bytes);
        });
        std::shared_ptr<const DeadBitmap> dead;
        if (head.dead > 0) {
            const std::uint64_t at = places.take(dead_words(head.entries) * sizeof(std::uint64_t));
            dead = std::make_shared<const DeadBitmap>(
                engine_.memory(), reinterpret_cast<const std::uint64_t *>(image + at), head.entries);
        }
        *file = std::make_unique<HostGridFile>(engine_, std::move(parts), std::move(dead), head.dead_version);
        return Status{};
    });
}

}  // namespace gpu_engine::host
