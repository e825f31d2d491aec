#include "server/options.h"

#include <getopt.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>

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
  --backlog N              connections that wait to be accepted, at most (default: 4096)
  --threads N              of the host engine (default: half of the processors, two of two)
  --devices LIST           the devices to compute on, by number or UUID (default: all), or none
  --engines LIST           host once, and cuda for the devices (default: host,cuda). For tests: host may come
                           several times, where each stands for a device; or emulated does in place of
                           cuda, each a device that computes on the processors
  --colocated-bytes BYTES  an index's runs of so many bytes stay on one engine (default: 64 MiB), and runs of
                           columns below eight times as many aren't divided
  --divide-all             for tests: divide also runs that one engine would answer sooner alone
  --log-levels             lines on stderr begin with <level>, in place of the time and the process
  --stuck-milliseconds N   give up when a cancelled request runs on for so long (default: 30000)
  --testing                allow tests to make requests for memory fail, and SIGUSR1 to lose an engine
)";

// Reads a decimal number from `lowest` to `highest`.
bool parse_number(const char *text, std::int64_t lowest, std::int64_t highest, std::int64_t *number) {
    errno = 0;
    char *end = nullptr;
    *number = std::strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= lowest && *number <= highest;
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

// Reads words between commas: host, any number of times, and cuda, or emulated any number of times.
bool take_engines(const char *text, Options *options) {
    constexpr std::uint32_t max_host_engines = max_engines / 2;
    std::uint32_t hosts = 0;
    std::uint32_t emulated_devices = 0;
    bool devices = false;
    bool good = true;
    std::string_view left = text;
    while (good) {
        const std::size_t end = left.find(',');
        const std::string_view word = left.substr(0, end);
        const bool is_device = word == "cuda" && !devices;
        hosts += word == "host" ? 1 : 0;
        emulated_devices += word == "emulated" ? 1 : 0;
        devices = devices || is_device;
        good = (word == "host" || word == "emulated" || is_device) && hosts <= max_host_engines &&
               emulated_devices <= max_host_engines && !(devices && emulated_devices > 0);
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
    options->emulated_devices = emulated_devices;
    options->uses_devices = emulated_devices > 0 || (options->uses_devices && devices);
    return true;
}

bool take_socket(const char *text, Options *options) {
    options->socket_path = text;
    return true;
}

template <auto Member>
void put(std::int64_t number, Options *options) {
    options->*Member = static_cast<std::remove_reference_t<decltype(options->*Member)>>(number);
}

template <protocol::EngineName Name>
void put_memory_limit(std::int64_t number, Options *options) {
    options->memory_limit[static_cast<int>(Name)] = static_cast<std::uint64_t>(number);
}

// An option takes a text, of which `take` says what is wrong; else a number from `lowest` to `highest`, or,
// where these are the same, nothing.
struct Known {
    const char *name;
    bool (*take)(const char *text, Options *options);
    void (*put)(std::int64_t number, Options *options);
    std::int64_t lowest;
    std::int64_t highest;
};

constexpr Known known_options[] = {
    {"socket", take_socket, nullptr, 0, 1},
    {"devices", take_devices, nullptr, 0, 1},
    {"engines", take_engines, nullptr, 0, 1},
    {"parent", nullptr, put<&Options::parent>, 1, INT32_MAX},
    {"watch-descriptor", nullptr, put<&Options::watch_descriptor>, 0, INT32_MAX},
    {"host-memory", nullptr, put_memory_limit<protocol::EngineName::host>, 0, INT64_MAX},
    {"device-memory", nullptr, put_memory_limit<protocol::EngineName::cuda>, 0, INT64_MAX},
    {"transfer-memory", nullptr, put<&Options::transfer_limit>, 0, INT64_MAX},
    {"queue", nullptr, put<&Options::queue_limit>, 0, INT32_MAX},
    {"joint-calls", nullptr, put<&Options::joint_calls>, 0, INT32_MAX},
    {"connections", nullptr, put<&Options::connection_limit>, 1, 100000},
    {"backlog", nullptr, put<&Options::backlog>, 1, INT32_MAX},
    {"threads", nullptr, put<&Options::threads>, 0, 4096},
    {"colocated-bytes", nullptr, put<&Options::colocated_bytes>, 0, INT64_MAX},
    {"divide-all", nullptr, put<&Options::divides_all>, 1, 1},
    {"log-levels", nullptr, put<&Options::logs_levels>, 1, 1},
    {"stuck-milliseconds", nullptr, put<&Options::stuck_milliseconds>, 1, INT32_MAX},
    {"testing", nullptr, put<&Options::testing>, 1, 1},
};

// False where the option doesn't take the text, which has been told.
bool take_option(const Known &known, const char *text, Options *options) {
    if (known.take != nullptr) {
        return known.take(text, options);
    }
    std::int64_t number = known.lowest;
    if (text != nullptr && !parse_number(text, known.lowest, known.highest, &number)) {
        std::fprintf(stderr, "pg_gpu_server: --%s doesn't take \"%s\"\n", known.name, text);
        return false;
    }
    known.put(number, options);
    return true;
}

}  // namespace

bool parse_options(int argc, char **argv, Options *options, bool *help) {
    constexpr int help_option = std::size(known_options);
    option known[help_option + 2] = {};
    for (int i = 0; i < help_option; ++i) {
        const bool is_alone = known_options[i].lowest == known_options[i].highest;
        known[i] = {known_options[i].name, is_alone ? no_argument : required_argument, nullptr, i};
    }
    known[help_option] = {"help", no_argument, nullptr, help_option};
    *help = false;
    optind = 1;
    int chosen;
    while ((chosen = getopt_long(argc, argv, "", known, nullptr)) != -1) {
        if (chosen == help_option) {
            *help = true;
            std::fputs(usage, stdout);
            return true;
        }
        // getopt_long itself tells of an option that isn't known.
        if (chosen > help_option || !take_option(known_options[chosen], optarg, options)) {
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
