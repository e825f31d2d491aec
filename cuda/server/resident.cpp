#include "server/resident.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace gpu_engine::server {
namespace {

// Going through all that is free takes some milliseconds, in which others wait to allocate.
constexpr std::uint64_t worth_giving_back = 16 << 20;

}  // namespace

std::uint64_t own_resident_bytes() {
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    std::uint64_t shared = 0;
    std::ifstream file("/proc/self/statm");
    if (!(file >> size >> resident >> shared)) {
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
    if (base_ != UINT64_MAX && now > base_ + worth_giving_back) {
        malloc_trim(0);
        now = beside();
        // What is left is of use, so it isn't looked through again for its own sake.
        base_ = now;
    }
    base_ = std::min(base_, now);
}

}  // namespace gpu_engine::server
