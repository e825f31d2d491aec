// The main() functions of benchmark programs share this.
#pragma once

#include <cstdio>
#include <ctime>
#include <sstream>
#include <string>
#include <vector>

#include "gpu_engine/guard.h"

namespace gpu_engine::bench {

// Returns the parts of a list with commas.
inline std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        parts.push_back(part);
    }
    return parts;
}

// Returns the time in the form that results have.
inline std::string time_now() {
    char text[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
}

// Reads the options by `parse`, starting from `options`, and calls run(options). Returns the program's exit
// status.
template <typename Options, typename Parse, typename Run>
int run_main(int argc, char **argv, const char *usage, Options options, Parse parse, Run run) {
    if (!parse(argc, argv, &options)) {
        std::fputs(usage, stderr);
        return 2;
    }
    const Status status = guarded([&] { return run(options); });
    if (!status.ok()) {
        std::fprintf(stderr, "%s: %s\n", argv[0], status.message);
        return 1;
    }
    return 0;
}

}  // namespace gpu_engine::bench
