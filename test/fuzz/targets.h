// The targets of fuzzing: parsers of bytes that others have written. Each target takes any bytes and must
// neither crash nor contradict itself; a contradiction aborts. `entry.cpp` makes a program of each for
// libFuzzer, and a unit test runs all of them on random bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fuzz {

// The server's side of a session: messages on one connection, and a transfer buffer's content.
void protocol(const std::uint8_t *data, std::size_t size);
// Pages of gpu_grid's runs, as the engine takes them.
void grid_pages(const std::uint8_t *data, std::size_t size);
// Pages of gpu_column's runs, under any header.
void column_pages(const std::uint8_t *data, std::size_t size);
// Sections of gpu_text's runs, and lists that lie anywhere in them.
void text_pages(const std::uint8_t *data, std::size_t size);
// Blocks of inverted lists in all codecs.
void postings(const std::uint8_t *data, std::size_t size);

[[noreturn]] inline void contradiction(const char *what) {
    std::fprintf(stderr, "contradiction: %s\n", what);
    std::abort();
}
inline void require(bool condition, const char *what) {
    if (!condition) {
        contradiction(what);
    }
}

// Takes an input apart from its beginning; what is missing is 0.
class Input {
  public:
    Input(const std::uint8_t *data, std::size_t size) : data_(data), size_(size) {}

    template <typename Number>
    Number take() {
        Number number = 0;
        const std::size_t bytes = sizeof(Number) < size_ ? sizeof(Number) : size_;
        std::memcpy(&number, data_, bytes);
        skip(bytes);
        return number;
    }
    // Copies what is left, up to `capacity` bytes; returns how many.
    std::size_t take_bytes(void *to, std::size_t capacity) {
        const std::size_t bytes = capacity < size_ ? capacity : size_;
        if (bytes > 0) {
            std::memcpy(to, data_, bytes);
            skip(bytes);
        }
        return bytes;
    }
    std::size_t left() const { return size_; }

  private:
    void skip(std::size_t bytes) {
        data_ += bytes;
        size_ -= bytes;
    }

    const std::uint8_t *data_;
    std::size_t size_;
};

}  // namespace fuzz
