#include "server/resident.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace gpu_engine::server {
namespace {

// Going through all that is free takes some milliseconds, in which others wait to allocate.
constexpr std::uint64_t worth_giving_back = 16 << 20;

}  // namespace

std::uint64_t own_resident_bytes() {
    // Nothing is allocated: where there is no memory left, statistics mustn't be what ends the process.
    char line[128];
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file >= 0 ? read(file, line, sizeof(line) - 1) : -1;
    if (file >= 0) {
        close(file);
    }
    line[std::max(length, ssize_t(0))] = '\0';
    std::uint64_t resident = 0;
    std::uint64_t shared = 0;
    if (std::sscanf(line, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2) {
        return 0;
    }
    return (resident - std::min(resident, shared)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void FreedMemory::look(std::uint64_t counted) {
    const auto beside = [counted] {
        const std::uint64_t resident = own_resident_bytes();
        return resident - std::min(resident, counted);
    };
    std::uint64_t now = beside();
    // What is counted and has not been written to yet isn't resident, so nothing is known.
    if (now == 0) {
        return;
    }
    if (base_ != UINT64_MAX && now > base_ + worth_giving_back) {
        malloc_trim(0);
        now = beside();
        // What is left is of use, so it isn't looked through again for its own sake.
        base_ = now;
    }
    base_ = std::min(base_, now);
}

}  // namespace gpu_engine::server
