// Grid files as bytes.
#include <cstring>
#include <type_traits>

#include "common/grid/image.h"
#include "device/grid/file.h"
#include "gpu_engine/guard.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

constexpr std::uint64_t magic = 0x32676d4964697247ULL;  // GridImg2
// What is copied between two cancellation points.
constexpr std::uint64_t piece_bytes = std::uint64_t(64) << 20;
constexpr std::size_t array_count = 2 * max_grid_columns + 6;

// The views' pointers are the writer's, and made anew.
struct ImageHead {
    std::uint64_t magic;
    std::uint64_t bytes;
    std::uint64_t dead_version;
    std::uint64_t dead;  // entries
    std::uint64_t entries;
    std::uint64_t last_block;
    std::uint64_t sizes[array_count];  // elements of each array
    GridShape shape;
    GridView<std::uint32_t> view32;
    GridView<std::uint64_t> view64;
    std::uint32_t columns;
    std::uint32_t narrow;
};
static_assert(std::is_trivially_copyable_v<ImageHead>);

// Calls body(number, array) for each.
template <typename Parts, typename Body>
void for_arrays(Parts &parts, Body body) {
    std::size_t number = 0;
    for (std::uint32_t c = 0; c < max_grid_columns; ++c) {
        body(number++, parts.keys[c]);
        body(number++, parts.scales[c]);
    }
    body(number++, parts.tids);
    body(number++, parts.order);
    body(number++, parts.directory);
    body(number++, parts.grids);
    body(number++, parts.top);
    body(number++, parts.lower_scales);
}

template <typename Element>
std::uint64_t bytes_of(const Buffer<Element> &array) {
    return array.size() * sizeof(Element);
}

// Waits for the device.
void copy_bytes(const Call &call, void *to, const void *from, std::uint64_t bytes) {
    for (std::uint64_t first = 0; first < bytes; first += piece_bytes) {
        const std::uint64_t size = bytes - first < piece_bytes ? bytes - first : piece_bytes;
        call.copy(static_cast<char *>(to) + first, static_cast<const char *>(from) + first, size);
        call.wait();
    }
}

template <typename Key>
void point_view_at(const GridParts &parts, GridView<Key> *view) {
    for (std::uint32_t c = 0; c < max_grid_columns; ++c) {
        view->keys[c] = parts.keys[c].data();
        view->scales[c] = reinterpret_cast<const Key *>(parts.scales[c].data());
    }
    view->top = reinterpret_cast<const Key *>(parts.top.data());
    view->directory = parts.directory.data();
    view->grids = parts.grids.data();
    view->lower_scales = reinterpret_cast<const Key *>(parts.lower_scales.data());
}

}  // namespace

DeviceGridFile::DeviceGridFile(const Call &call, GridParts parts, std::shared_ptr<const DeadBitmap> dead,
                               std::uint64_t dead_version)
    : DeviceGridFile(call, std::move(parts)) {
    static_cast<void>(dead_.replace(std::move(dead), dead_version));
}

std::uint64_t DeviceGridFile::image_bytes() const noexcept {
    ImagePlaces places(sizeof(ImageHead));
    for_arrays(parts_, [&](std::size_t, const auto &array) { places.take(bytes_of(array)); });
    places.take(dead_words(parts_.entries) * sizeof(std::uint64_t));
    return places.end();
}

Status DeviceGridFile::write_image(Stream &stream, char *image) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const auto [dead, dead_version] = dead_.get_versioned();
        ImageHead head = {};
        head.magic = magic;
        head.bytes = image_bytes();
        head.dead_version = dead_version;
        head.dead = dead != nullptr ? dead->dead : 0;
        head.entries = parts_.entries;
        head.last_block = parts_.last_block;
        head.shape = parts_.shape;
        head.view32 = parts_.view32;
        head.view64 = parts_.view64;
        head.columns = parts_.columns;
        head.narrow = parts_.narrow ? 1 : 0;
        ImagePlaces places(sizeof(ImageHead));
        for_arrays(parts_, [&](std::size_t number, const auto &array) {
            head.sizes[number] = array.size();
            copy_bytes(call, image + places.take(bytes_of(array)), array.data(), bytes_of(array));
        });
        if (dead != nullptr) {
            const std::uint64_t dead_bytes = dead_words(parts_.entries) * sizeof(std::uint64_t);
            const DeadBitmap *kept = call.keep(dead);
            copy_bytes(call, image + places.take(dead_bytes), kept->words.data(), dead_bytes);
        }
        std::memcpy(image, &head, sizeof(head));
        return Status{};
    });
}

Status DeviceGrid::load_image(Stream &stream, const char *image, std::uint64_t bytes,
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
        const Call call(engine_, stream);
        GridParts parts;
        parts.columns = head.columns;
        parts.entries = head.entries;
        parts.shape = head.shape;
        parts.narrow = head.narrow != 0;
        parts.last_block = head.last_block;
        parts.view32 = head.view32;
        parts.view64 = head.view64;
        ImagePlaces places(sizeof(ImageHead));
        for_arrays(parts, [&]<typename Element>(std::size_t number, Buffer<Element> &array) {
            array = call.buffer<Element>(head.sizes[number]);
            copy_bytes(call, array.data(), image + places.take(bytes_of(array)), bytes_of(array));
        });
        if (parts.narrow) {
            point_view_at(parts, &parts.view32);
        } else {
            point_view_at(parts, &parts.view64);
        }
        std::shared_ptr<const DeadBitmap> dead;
        if (head.dead > 0) {
            const std::uint64_t at = places.take(dead_words(head.entries) * sizeof(std::uint64_t));
            auto bitmap =
                make_dead_bitmap(call, reinterpret_cast<const std::uint64_t *>(image + at), head.entries);
            dead = std::make_shared<const DeadBitmap>(std::move(bitmap));
        }
        *file = std::make_unique<DeviceGridFile>(call, std::move(parts), std::move(dead), head.dead_version);
        return Status{};
    });
}

}  // namespace gpu_engine::device
