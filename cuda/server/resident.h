// What the process's memory comes to beside what its engines count.
#pragma once

#include <cstdint>

namespace gpu_engine::server {

// Returns the bytes in memory that are this process's alone, without transfer buffers, which sessions share;
// 0 where /proc doesn't say.
std::uint64_t own_resident_bytes();

// The C library keeps what is freed between what is used. Where that has become much, it gives it back.
class FreedMemory {
  public:
    // `counted` is what engines have and keep. Is called every second or so, by one thread.
    void look(std::uint64_t counted);

  private:
    // What was resident beside that when there was least of it: the program, its threads, a driver.
    std::uint64_t base_ = UINT64_MAX;
};

}  // namespace gpu_engine::server
