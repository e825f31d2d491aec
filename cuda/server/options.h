// The options that the server is started with.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_engine/device_list.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/protocol.h"
#include "server/engine_id.h"

namespace gpu_engine::server {

struct Options {
    std::string socket_path;    // relative to the working directory, or absolute
    pid_t parent = 0;           // the server ends with this process; 0: with none
    int watch_descriptor = -1;  // and when reading from this one meets the end; -1: none
    // The limits are in bytes; 0 is the default.
    std::uint64_t memory_limit[protocol::engine_count] = {0, 0};
    std::uint64_t transfer_limit = 0;
    std::uint32_t queue_limit = 0;  // requests of an engine that wait; 0 is the default
    // How many calls that other requests could join run at a time (queue.h); 0 is the engine's default.
    std::uint32_t joint_calls = 0;
    std::uint32_t connection_limit = 1000;  // further ones are closed at once
    // So many connections wait to be accepted; the system may allow fewer. Who comes beyond them has to try
    // again.
    std::uint32_t backlog = 4096;
    std::int32_t threads = 0;  // threads of the host engine; 0: default_host_threads
    bool uses_devices = true;  // false: no cuda engine
    // Which devices compute, as read_device_list reads it; all of them where it is empty.
    std::string devices;
    // So many engines compute on the machine's processors. One is of use; several stand for devices in tests.
    std::uint32_t host_engines = 1;
    // So many further engines do that as if they were devices; 0: devices are devices.
    std::uint32_t emulated_devices = 0;
    // An index's runs of so many bytes together stay on one engine; larger indexes are spread over those of a
    // kind.
    std::uint64_t colocated_bytes = std::uint64_t(64) << 20;
    // The host engine takes the runs that devices have no room for. Tests of the devices' limits turn it off.
    bool overflows = true;
    // Tests set it, to have runs of every kind divided that can be, also where that gains nothing.
    bool divides_all = false;
    bool testing = false;  // takes protocol::Inject
    // Lines of the log begin with their level, for a supervisor that reads them.
    bool logs_levels = false;
    // Opens the cuda engine; tests put another function in its place. Empty: device::open_engine opens it, if
    // that is built in.
    std::function<Status(const EngineOptions &, std::unique_ptr<Engine> *)> open_device;
    // Lists the devices. Empty: device::identify_devices, if that is built in; else there is one, of the
    // number 0.
    std::function<Status(std::vector<DeviceIdentity> *)> identify_devices;
    // The server waits so long before it tries again to open a device: the first value at first, then twice
    // as long each time, up to the longest.
    std::uint32_t first_retry_milliseconds = 1000;
    std::uint32_t longest_retry_milliseconds = 60000;
    // An opening that takes this long is taken to hang: sessions stop waiting for it.
    std::uint32_t slow_opening_milliseconds = 30000;
    // The server gives itself up when a request still runs this long after it was cancelled.
    std::uint32_t stuck_milliseconds = 30000;
};

// Reads the options from a command line. Returns false after a message on stderr; `*help` says that help was
// asked for and printed.
bool parse_options(int argc, char **argv, Options *options, bool *help);

}  // namespace gpu_engine::server
