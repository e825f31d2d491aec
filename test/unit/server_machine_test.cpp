// Limits of control groups, read from files as the kernel shows them.
#include "server/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

using gpu_engine::server::default_host_threads;
using gpu_engine::server::Machine;
using gpu_engine::server::read_machine;

constexpr std::uint64_t mebibyte = std::uint64_t(1) << 20;

class ServerMachine : public testing::Test {
  protected:
    ServerMachine() {
        char folder[] = "/tmp/pg_gpu-machine.XXXXXX";
        root_ = mkdtemp(folder);
    }
    ~ServerMachine() override { std::filesystem::remove_all(root_); }

    void write(const std::string &path, const std::string &text) {
        const std::filesystem::path file = root_ + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << '\n';
    }
    Machine limited() { return read_machine(root_); }

    std::string root_;
    const Machine whole_ = read_machine("/nowhere");
};

TEST_F(ServerMachine, WithoutGroupsThereIsTheWholeMachine) {
    EXPECT_GE(whole_.processors, 1U);
    EXPECT_GT(whole_.memory, 64 * mebibyte);
    write("/proc/self/cgroup", "0::/");
    write("/sys/fs/cgroup/memory.max", "max");
    write("/sys/fs/cgroup/cpu.max", "max 100000");
    EXPECT_EQ(limited().memory, whole_.memory);
    EXPECT_EQ(limited().processors, whole_.processors);
}

TEST_F(ServerMachine, EveryGroupOnTheWayCounts) {
    write("/proc/self/cgroup", "0::/system.slice/postgresql.service");
    write("/sys/fs/cgroup/system.slice/memory.max", std::to_string(32 * mebibyte));
    write("/sys/fs/cgroup/system.slice/postgresql.service/memory.max", std::to_string(48 * mebibyte));
    write("/sys/fs/cgroup/system.slice/postgresql.service/cpu.max", "50000 100000");
    EXPECT_EQ(limited().memory, 32 * mebibyte);
    EXPECT_EQ(limited().processors, 1U) << "half a processor is one";
}

TEST_F(ServerMachine, AContainerShowsItsGroupAsTheRoot) {
    write("/proc/self/cgroup", "0::/docker/0123456789abcdef");
    write("/sys/fs/cgroup/memory.max", std::to_string(16 * mebibyte));
    EXPECT_EQ(limited().memory, 16 * mebibyte);
}

TEST_F(ServerMachine, VersionOneHasAFolderForEachController) {
    write("/proc/self/cgroup", "12:memory:/limited\n4:cpu,cpuacct:/limited\n1:name=systemd:/limited");
    write("/sys/fs/cgroup/memory/limited/memory.limit_in_bytes", std::to_string(24 * mebibyte));
    write("/sys/fs/cgroup/cpu,cpuacct/limited/cpu.cfs_quota_us", "100000");
    write("/sys/fs/cgroup/cpu,cpuacct/limited/cpu.cfs_period_us", "100000");
    EXPECT_EQ(limited().memory, 24 * mebibyte);
    EXPECT_EQ(limited().processors, 1U);
    // No quota is -1 there, and no limit of memory is a number larger than any machine's.
    write("/sys/fs/cgroup/cpu,cpuacct/limited/cpu.cfs_quota_us", "-1");
    write("/sys/fs/cgroup/memory/limited/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(limited().memory, whole_.memory);
    EXPECT_EQ(limited().processors, whole_.processors);
}

TEST_F(ServerMachine, WhatMakesNoSenseLimitsNothing) {
    write("/proc/self/cgroup", "nonsense\n0::/a");
    write("/sys/fs/cgroup/a/memory.max", "a lot");
    write("/sys/fs/cgroup/a/cpu.max", "0 0");
    EXPECT_EQ(limited().memory, whole_.memory);
    EXPECT_EQ(limited().processors, whole_.processors);
}

TEST(HostThreads, AreHalfOfTheProcessorsButTwoOfTwo) {
    const std::uint32_t threads[] = {1, 1, 2, 2, 2, 2, 3, 3, 4};
    for (std::uint32_t processors = 0; processors < std::size(threads); ++processors) {
        EXPECT_EQ(default_host_threads(processors), threads[processors]) << processors << " processors";
    }
    EXPECT_EQ(default_host_threads(64), 32U);
}

}  // namespace
