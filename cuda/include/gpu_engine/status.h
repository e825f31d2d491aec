// Every entry point of the engine returns a status. No exception leaves the engine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpu_engine {

enum class StatusCode : std::int32_t {
    ok = 0,
    invalid_argument,
    out_of_memory,       // the budget's limit, or what there is
    unavailable,         // no driver, no device, a device that is lost
    cancelled,           // by the caller's Stream::cancel
    insufficient_space,  // the caller's output is too small for the result
    internal,
};

// Has no allocation and no destructor: it can be made when memory is short, and a longjmp may pass over it.
struct Status {
    static constexpr std::size_t message_capacity = 200;

    StatusCode code = StatusCode::ok;
    char message[message_capacity] = {};

    bool ok() const noexcept { return code == StatusCode::ok; }
};

// Longer messages are cut.
inline Status make_status(StatusCode code, const char *message) noexcept {
    Status status;
    status.code = code;
    for (std::size_t i = 0; i + 1 < Status::message_capacity && message[i] != '\0'; ++i) {
        status.message[i] = message[i];
    }
    return status;
}

}  // namespace gpu_engine
