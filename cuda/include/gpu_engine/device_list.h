// A setting names devices by a list of numbers and UUIDs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_engine/status.h"

namespace gpu_engine {

// The properties that tell one device from another. Finding them out makes no context.
struct DeviceIdentity {
    std::int32_t device;  // its number in this process
    char uuid[48];        // nvidia-smi's form: GPU- and 32 digits in groups; empty where it isn't known
    char pci[16];         // domain, bus, device and function
};

// A device that a list names, by its number, or by its UUID where `device` is below 0.
struct NamedDevice {
    std::int32_t device = -1;
    char uuid_digits[33] = {};  // in lower case
};

namespace device_list {

inline constexpr std::int32_t max_number = 1023;
inline constexpr std::size_t max_devices = 16;  // most devices in a list
inline constexpr std::size_t uuid_digits = 32;

constexpr bool is_space(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Returns the value of a hexadecimal digit, or -1.
constexpr int digit_value(char c) noexcept {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// Reads a number from the text's `size` characters.
constexpr bool read_number(const char *text, std::size_t size, NamedDevice *device) noexcept {
    std::int32_t number = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const int digit = text[i] >= '0' && text[i] <= '9' ? text[i] - '0' : -1;
        if (digit < 0 || (number = number * 10 + digit) > max_number) {
            return false;
        }
    }
    device->device = number;
    return size > 0;
}

// Reads a UUID: 32 hexadecimal digits, with hyphens where they usually are or without, behind "GPU-", "MIG-"
// or nothing.
constexpr bool read_uuid(const char *text, std::size_t size, NamedDevice *device) noexcept {
    constexpr std::size_t prefix = 4;
    const auto begins_with = [&](const char *word) {
        for (std::size_t i = 0; i < prefix; ++i) {
            if (i >= size || text[i] != word[i]) {
                return false;
            }
        }
        return true;
    };
    std::size_t digits = 0;
    for (std::size_t i = begins_with("GPU-") || begins_with("MIG-") ? prefix : 0; i < size; ++i) {
        if (text[i] == '-' && (digits == 8 || digits == 12 || digits == 16 || digits == 20) &&
            text[i - 1] != '-') {
            continue;
        }
        const int value = digit_value(text[i]);
        if (value < 0 || digits == uuid_digits) {
            return false;
        }
        device->uuid_digits[digits++] = "0123456789abcdef"[value];
    }
    device->device = -1;
    return digits == uuid_digits;
}

constexpr bool is_same(const NamedDevice &one, const NamedDevice &other) noexcept {
    for (std::size_t i = 0; i < uuid_digits; ++i) {
        if (one.uuid_digits[i] != other.uuid_digits[i]) {
            return false;
        }
    }
    return one.device == other.device;
}

// Does the list's word name this device?
constexpr bool names(const NamedDevice &named, const DeviceIdentity &device) noexcept {
    if (named.device >= 0) {
        return named.device == device.device;
    }
    std::size_t size = 0;
    while (size < sizeof(device.uuid) && device.uuid[size] != '\0') {
        ++size;
    }
    NamedDevice its;
    return read_uuid(device.uuid, size, &its) && is_same(named, its);
}

}  // namespace device_list

// Reads a list: words between commas, with spaces around them or none. An empty list stands for all devices.
// At most `capacity` devices are kept. Returns how many are named, or -1 and the place of the word that is
// wrong: it is neither a number nor a UUID, or names what another word has named.
constexpr int read_device_list(const char *text, NamedDevice *devices, std::size_t capacity,
                               const char **wrong) noexcept {
    using namespace device_list;
    while (is_space(*text)) {
        ++text;
    }
    if (*text == '\0') {
        return 0;
    }
    std::size_t count = 0;
    for (;;) {
        while (is_space(*text)) {
            ++text;
        }
        const char *end = text;
        while (*end != '\0' && *end != ',') {
            ++end;
        }
        std::size_t size = static_cast<std::size_t>(end - text);
        while (size > 0 && is_space(text[size - 1])) {
            --size;
        }
        NamedDevice device;
        bool good = (read_number(text, size, &device) || read_uuid(text, size, &device)) && count < capacity;
        for (std::size_t i = 0; good && i < count; ++i) {
            good = !is_same(devices[i], device);
        }
        if (!good) {
            *wrong = text;
            return -1;
        }
        devices[count++] = device;
        if (*end == '\0') {
            return static_cast<int>(count);
        }
        text = end + 1;
    }
}

// This function exists only in builds with PG_GPU_HAVE_CUDA.
namespace device {
// Fills at most `capacity` rows and sets `count` to how many devices there are, without making a context on
// any of them. Without a driver the status is `unavailable`.
Status identify_devices(DeviceIdentity *devices, std::size_t capacity, std::size_t *count) noexcept;
}  // namespace device

}  // namespace gpu_engine
