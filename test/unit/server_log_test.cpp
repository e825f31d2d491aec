// Lines of the log that nobody reads: whoever writes them doesn't wait, and they are counted.
#include <fcntl.h>
#include <unistd.h>

#include <regex>
#include <string>

#include "server/log.h"

#include <gtest/gtest.h>

namespace {

using namespace gpu_engine::server;

// stderr is a pipe of one page while this lives.
class ShortPipe {
  public:
    ShortPipe() : before_(dup(STDERR_FILENO)) {
        EXPECT_EQ(pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
        EXPECT_GT(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 0);
        EXPECT_EQ(dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
    }
    ~ShortPipe() {
        dup2(before_, STDERR_FILENO);
        close(before_);
        close(ends_[0]);
        close(ends_[1]);
    }
    std::string read() {
        std::string text(65536, '\0');
        const ssize_t count = ::read(ends_[0], text.data(), text.size());
        text.resize(count > 0 ? count : 0);
        return text;
    }

  private:
    int before_;
    int ends_[2] = {-1, -1};
};

std::size_t count_of(const std::string &text, const std::string &what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++count;
    }
    return count;
}

// How many lines the text says are missing.
std::size_t missing_in(const std::string &text) {
    static const std::regex reported("pg_gpu_server: ([0-9]+) lines of this log could not be written\n");
    std::size_t count = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), reported); match != std::sregex_iterator();
         ++match) {
        count += std::stoul((*match)[1]);
    }
    return count;
}

TEST(ServerLog, WhatNobodyReadsIsCounted) {
    ShortPipe pipe;
    const std::string words(100, 'w');
    constexpr std::size_t lines = 200;
    for (std::size_t line = 0; line < lines; ++line) {
        log_line("%s", words.c_str());
    }
    // Room that is too short for a line may do for the first count.
    const std::string before = pipe.read();
    const std::size_t written = count_of(before, words + "\n");
    EXPECT_GT(written, 10U);
    EXPECT_LT(written, lines);
    log_warning("more");
    const std::string text = pipe.read();
    EXPECT_EQ(written + missing_in(before) + missing_in(text), lines) << text;
    EXPECT_GT(missing_in(text), 0U) << text;
    EXPECT_EQ(count_of(text, "pg_gpu_server: more\n"), 1U) << text;
    log_line("after");
    EXPECT_EQ(count_of(pipe.read(), "\n"), 1U) << "they are told once";
}

TEST(ServerLog, LongLinesAreCut) {
    ShortPipe pipe;
    log_line("%s", std::string(3000, 'x').c_str());
    log_line("next");
    const std::string text = pipe.read();
    EXPECT_EQ(text.find('\n'), 1022U);
    EXPECT_EQ(count_of(text, "\n"), 2U);
}

}  // namespace
