// The resources that the machine lets this process use: all of it, or less if a control group says so.
#pragma once

#include <cstdint>
#include <string>

namespace gpu_engine::server {

struct Machine {
    std::uint64_t memory;      // bytes
    std::uint32_t processors;  // at least 1; a quota that is no whole number is rounded up
};

// Memory and processors of the machine, the process's affinity, and the limits of its control groups and of
// all that they lie in (versions 1 and 2, as containers and systemd's units set them). `root` is where /proc
// and /sys lie, for tests. A file that can't be read limits nothing.
Machine read_machine(const std::string &root = "");

// Returns the host engine's threads, unless somebody says otherwise: half of the processors, which leaves the
// others to sessions, but two where there are two. A single one could only do what the session, which waits
// for it, would do by itself.
std::uint32_t default_host_threads(std::uint32_t processors);

}  // namespace gpu_engine::server
