#include "server/options.h"

#include <getopt.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace gpu_engine::server {
namespace {

constexpr char usage[] =
    R"(pg_gpu_server computes for the sessions of one PostgreSQL server. pg_gpu starts it by itself.

usage: pg_gpu_server --socket PATH [option ...]

  --socket PATH            the Unix socket to make
  --parent PID             end with this process
  --watch-descriptor N     end when reading from this open descriptor meets the end
  --host-memory BYTES      limit of the host engine (default: 3/32 of the machine's memory)
  --device-memory BYTES    limit on the device (default: half of what is free at the start)
  --transfer-memory BYTES  limit of all transfer buffers (default: 1/32 of the machine's memory)
  --queue N                requests of an engine that wait at most (default: 64)
  --joint-calls N          calls for searches that others could join, at a time (default: 4 on a device)
  --connections N          connections at most (default: 1000)
  --threads N              of the host engine (default: half of the processors, two of two)
  --devices LIST           the devices to compute on, by number or UUID (default: all), or none
  --engines LIST           host once, and cuda for the devices (default: host,cuda). For tests: host may come
                           several times, where each stands for a device; or stand-in does in place of
                           cuda, each a device that computes on the processors
  --kept-together BYTES    an index's runs of so many bytes stay on one engine (default: 64 MiB), and runs of
                           columns below eight times as many aren't divided
  --divide-all             for tests: divide also runs that one engine would answer sooner alone
  --log-levels             lines on stderr begin with <level>, in place of the time and the process
  --stuck-milliseconds N   give up when a cancelled request runs on for so long (default: 30000)
  --testing                allow tests to make requests for memory fail, and SIGUSR1 to lose an engine
)";

// Reads a decimal number from `lowest` to `highest`.
bool parse_number(const char *text, std::int64_t lowest, std::uint64_t highest, std::int64_t *number) {
    errno = 0;
    char *end = nullptr;
    *number = std::strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= lowest &&
           (*number < 0 || static_cast<std::uint64_t>(*number) <= highest);
}

bool take_devices(const char *text, Options *options) {
    if (std::strcmp(text, "none") == 0) {
        options->uses_devices = false;
        return true;
    }
    NamedDevice named[device_list::max_devices];
    const char *wrong = nullptr;
    if (read_device_list(text, named, device_list::max_devices, &wrong) < 0) {
        std::fprintf(stderr, "pg_gpu_server: --devices doesn't take \"%s\"\n", wrong);
        return false;
    }
    options->devices = text;
    return true;
}

// Reads words between commas: host, any number of times, and cuda, or stand-in any number of times.
bool take_engines(const char *text, Options *options) {
    constexpr std::uint32_t max_host_engines = max_engines / 2;
    std::uint32_t hosts = 0;
    std::uint32_t stand_ins = 0;
    bool devices = false;
    bool good = true;
    std::string_view left = text;
    while (good) {
        const std::size_t end = left.find(',');
        const std::string_view word = left.substr(0, end);
        const bool is_device = word == "cuda" && !devices;
        hosts += word == "host" ? 1 : 0;
        stand_ins += word == "stand-in" ? 1 : 0;
        devices = devices || is_device;
        good = (word == "host" || word == "stand-in" || is_device) && hosts <= max_host_engines &&
               stand_ins <= max_host_engines && !(devices && stand_ins > 0);
        if (end == std::string_view::npos) {
            break;
        }
        left.remove_prefix(end + 1);
    }
    if (!good || hosts == 0) {
        std::fprintf(stderr, "pg_gpu_server: --engines doesn't take \"%s\"\n", text);
        return false;
    }
    options->host_engines = hosts;
    options->stand_ins = stand_ins;
    options->uses_devices = stand_ins > 0 || (options->uses_devices && devices);
    return true;
}

}  // namespace

bool parse_options(int argc, char **argv, Options *options, bool *help) {
    enum : int {
        socket_option = 256,
        parent_option,
        watch_option,
        host_memory_option,
        device_memory_option,
        transfer_memory_option,
        queue_option,
        joint_calls_option,
        connections_option,
        threads_option,
        devices_option,
        engines_option,
        kept_together_option,
        divide_option,
        log_levels_option,
        stuck_option,
        testing_option,
        help_option,
    };
    static const option known[] = {
        {"socket", required_argument, nullptr, socket_option},
        {"parent", required_argument, nullptr, parent_option},
        {"watch-descriptor", required_argument, nullptr, watch_option},
        {"host-memory", required_argument, nullptr, host_memory_option},
        {"device-memory", required_argument, nullptr, device_memory_option},
        {"transfer-memory", required_argument, nullptr, transfer_memory_option},
        {"queue", required_argument, nullptr, queue_option},
        {"joint-calls", required_argument, nullptr, joint_calls_option},
        {"connections", required_argument, nullptr, connections_option},
        {"threads", required_argument, nullptr, threads_option},
        {"devices", required_argument, nullptr, devices_option},
        {"engines", required_argument, nullptr, engines_option},
        {"kept-together", required_argument, nullptr, kept_together_option},
        {"divide-all", no_argument, nullptr, divide_option},
        {"log-levels", no_argument, nullptr, log_levels_option},
        {"stuck-milliseconds", required_argument, nullptr, stuck_option},
        {"testing", no_argument, nullptr, testing_option},
        {"help", no_argument, nullptr, help_option},
        {nullptr, 0, nullptr, 0},
    };
    *help = false;
    optind = 1;
    int chosen;
    int index = 0;
    while ((chosen = getopt_long(argc, argv, "", known, &index)) != -1) {
        std::int64_t number = 0;
        const auto take = [&](std::int64_t lowest, std::uint64_t highest) {
            if (parse_number(optarg, lowest, highest, &number)) {
                return true;
            }
            std::fprintf(stderr, "pg_gpu_server: --%s doesn't take \"%s\"\n", known[index].name, optarg);
            return false;
        };
        bool good = true;
        switch (chosen) {
            case socket_option:
                options->socket_path = optarg;
                break;
            case parent_option:
                good = take(1, INT32_MAX);
                options->parent = static_cast<pid_t>(number);
                break;
            case watch_option:
                good = take(0, INT32_MAX);
                options->watch_descriptor = static_cast<int>(number);
                break;
            case host_memory_option:
            case device_memory_option:
            case transfer_memory_option: {
                good = take(0, INT64_MAX);
                std::uint64_t *limit = chosen == transfer_memory_option
                                           ? &options->transfer_limit
                                           : &options->memory_limit[static_cast<int>(
                                                 chosen == host_memory_option ? protocol::EngineName::host
                                                                              : protocol::EngineName::cuda)];
                *limit = static_cast<std::uint64_t>(number);
                break;
            }
            case queue_option:
                good = take(0, INT32_MAX);
                options->queue_limit = static_cast<std::uint32_t>(number);
                break;
            case joint_calls_option:
                good = take(0, INT32_MAX);
                options->joint_calls = static_cast<std::uint32_t>(number);
                break;
            case connections_option:
                good = take(1, 100000);
                options->connection_limit = static_cast<std::uint32_t>(number);
                break;
            case threads_option:
                good = take(0, 4096);
                options->threads = static_cast<std::int32_t>(number);
                break;
            case devices_option:
                good = take_devices(optarg, options);
                break;
            case engines_option:
                good = take_engines(optarg, options);
                break;
            case kept_together_option:
                good = take(0, INT64_MAX);
                options->kept_together = static_cast<std::uint64_t>(number);
                break;
            case divide_option:
                options->divides_all = true;
                break;
            case log_levels_option:
                options->logs_levels = true;
                break;
            case stuck_option:
                good = take(1, INT32_MAX);
                options->stuck_milliseconds = static_cast<std::uint32_t>(number);
                break;
            case testing_option:
                options->testing = true;
                break;
            case help_option:
                *help = true;
                std::fputs(usage, stdout);
                return true;
            default:  // getopt_long has told what is wrong
                return false;
        }
        if (!good) {
            return false;
        }
    }
    if (optind < argc || options->socket_path.empty()) {
        std::fputs(usage, stderr);
        return false;
    }
    return true;
}

}  // namespace gpu_engine::server
