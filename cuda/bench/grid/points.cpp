#include "bench/grid/points.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

namespace gpu_engine::bench {
namespace {

PointSet empty_set(std::uint64_t count, std::uint32_t columns) {
    PointSet set;
    set.keys.assign(columns, std::vector<std::uint32_t>(count));
    set.tids.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t block = i / 150;
        set.tids[i] = Tid{static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block),
                          static_cast<std::uint16_t>(i % 150 + 1)};
    }
    return set;
}

// Makes a key of a number from -1 to 1.
std::uint32_t key_of(double value) {
    return static_cast<std::uint32_t>(std::clamp((value + 1) / 2, 0.0, 1.0) * UINT32_MAX);
}

}  // namespace

PointSet uniform_points(std::uint64_t count, std::uint32_t columns) {
    PointSet set = empty_set(count, columns);
    std::mt19937_64 random(columns);
    for (std::uint64_t i = 0; i < count; ++i) {
        for (auto &keys : set.keys) {
            keys[i] = static_cast<std::uint32_t>(random());
        }
    }
    return set;
}

PointSet gaussian_points(std::uint64_t count, std::uint32_t columns, double deviation) {
    PointSet set = empty_set(count, columns);
    std::mt19937_64 random(columns);
    std::normal_distribution<double> normal(0x80000000U, deviation);
    for (std::uint64_t i = 0; i < count; ++i) {
        for (auto &keys : set.keys) {
            keys[i] = static_cast<std::uint32_t>(std::clamp(normal(random), 0.0, double(UINT32_MAX)));
        }
    }
    return set;
}

PointSet sphere_points(std::uint64_t count) {
    PointSet set = empty_set(count, 3);
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (std::uint64_t i = 0; i < count; ++i) {
        const double x = normal(random);
        const double y = normal(random);
        const double z = normal(random);
        const double length = std::sqrt(x * x + y * y + z * z);
        set.keys[0][i] = key_of(x / length);
        set.keys[1][i] = key_of(y / length);
        set.keys[2][i] = key_of(z / length);
    }
    return set;
}

PointSet scanned_points(std::uint64_t count, const std::string &file) {
    std::vector<float> scan;
    if (std::FILE *stream = std::fopen(file.c_str(), "rb")) {
        float point[3];
        while (std::fread(point, sizeof(point), 1, stream) == 1) {
            scan.insert(scan.end(), point, point + 3);
        }
        std::fclose(stream);
    }
    const std::uint64_t scanned = scan.size() / 3;
    if (scanned < 2) {
        return {};
    }
    double low[3] = {INFINITY, INFINITY, INFINITY};
    double size = 0;
    for (int c = 0; c < 3; ++c) {
        double high = -INFINITY;
        for (std::uint64_t i = 0; i < scanned; ++i) {
            low[c] = std::min<double>(low[c], scan[3 * i + c]);
            high = std::max<double>(high, scan[3 * i + c]);
        }
        size = std::max(size, high - low[c]);
    }
    // Neighbours in the file that are further apart than this lie on different parts of the surface.
    const double near = size / 200;
    PointSet set = empty_set(count, 3);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> share;
    std::normal_distribution<double> jitter(0, size / 5000);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t from = random() % (scanned - 1);
        double distance = 0;
        for (int c = 0; c < 3; ++c) {
            distance = std::max(distance, std::abs(double(scan[3 * from + 3 + c]) - scan[3 * from + c]));
        }
        const double part = distance < near ? share(random) : 0;
        for (int c = 0; c < 3; ++c) {
            const double a = scan[3 * from + c];
            const double b = scan[3 * from + 3 + c];
            set.keys[c][i] = key_of((a + part * (b - a) + jitter(random) - low[c]) / size * 2 - 1);
        }
    }
    return set;
}

}  // namespace gpu_engine::bench
