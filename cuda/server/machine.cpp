#include "server/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

namespace gpu_engine::server {
namespace {

constexpr char group_mount[] = "/sys/fs/cgroup";

// A line of /proc/self/cgroup has a number, controllers with commas between them, and a path.
struct Membership {
    std::string controllers;  // empty for version 2
    std::string path;
};

bool parse_membership(const std::string &line, Membership *membership) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
        return false;
    }
    *membership = {line.substr(first + 1, second - first - 1), line.substr(second + 1)};
    return true;
}

bool has_controller(const Membership &membership, const std::string &controller) {
    return ("," + membership.controllers + ",").find("," + controller + ",") != std::string::npos;
}

// Reads the first word of a file as a number. Returns false for "max", which is no limit, and where there is
// no file.
bool read_number(std::istream &&file, double *number) {
    return static_cast<bool>(file >> *number);
}

void lower_memory(const std::string &file, Machine *machine) {
    double bytes = 0;
    if (read_number(std::ifstream(file), &bytes) && bytes > 0 &&
        bytes < static_cast<double>(machine->memory)) {
        machine->memory = static_cast<std::uint64_t>(bytes);
    }
}

void lower_processors(double quota, double period, Machine *machine) {
    if (quota > 0 && period > 0) {
        const double processors = std::max(std::ceil(quota / period), 1.0);
        if (processors < machine->processors) {
            machine->processors = static_cast<std::uint32_t>(processors);
        }
    }
}

// Calls `look` with the folder of the group and of each group that it lies in. A container may show its group
// as the root of the mount, whatever /proc says the path is, so folders that aren't there are passed over.
template <typename Look>
void each_group(const std::string &mount, std::string path, Look look) {
    for (;;) {
        look(mount + path);
        const std::size_t slash = path.find_last_of('/');
        if (path.empty() || slash == std::string::npos) {
            return;
        }
        path.erase(slash);
    }
}

void look_at_version_2(const std::string &folder, Machine *machine) {
    lower_memory(folder + "/memory.max", machine);
    std::ifstream file(folder + "/cpu.max");
    double quota = 0;
    double period = 0;
    if (file >> quota >> period) {
        lower_processors(quota, period, machine);
    }
}

void look_at_version_1(const std::string &folder, Machine *machine) {
    lower_memory(folder + "/memory.limit_in_bytes", machine);
    double quota = 0;
    double period = 0;
    if (read_number(std::ifstream(folder + "/cpu.cfs_quota_us"), &quota) &&
        read_number(std::ifstream(folder + "/cpu.cfs_period_us"), &period)) {
        lower_processors(quota, period, machine);
    }
}

}  // namespace

Machine read_machine(const std::string &root) {
    Machine machine{static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
                    std::max(std::thread::hardware_concurrency(), 1U)};
    std::ifstream memberships(root + "/proc/self/cgroup");
    std::string line;
    while (std::getline(memberships, line)) {
        Membership membership;
        if (!parse_membership(line, &membership)) {
            continue;
        }
        const std::string mount = root + group_mount;
        if (membership.controllers.empty()) {
            each_group(mount, membership.path,
                       [&](const std::string &folder) { look_at_version_2(folder, &machine); });
        } else if (has_controller(membership, "memory") || has_controller(membership, "cpu")) {
            // The folder has the names of all its controllers; some systems have links with the name of one.
            each_group(mount + "/" + membership.controllers, membership.path,
                       [&](const std::string &folder) { look_at_version_1(folder, &machine); });
        }
    }
    return machine;
}

std::uint32_t default_host_threads(std::uint32_t processors) {
    return std::max(processors / 2, std::clamp(processors, 1U, 2U));
}

}  // namespace gpu_engine::server
