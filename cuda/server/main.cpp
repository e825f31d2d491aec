// pg_gpu_server: the process that owns the device. See README.md.
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "gpu_engine/guard.h"
#include "server/faults.h"
#include "server/log.h"
#include "server/options.h"
#include "server/server.h"

namespace {

using namespace gpu_engine;
using namespace gpu_engine::server;

enum ExitCode : int {
    exit_stopped = 0,
    exit_usage = 1,
    exit_not_started = 2,
    exit_given_up = 3,  // a new process may do better
};

// Threads of sessions need little, and there may be many of them.
constexpr std::size_t stack_bytes = std::size_t(1) << 20;
constexpr int kept_bytes = 1 << 20;  // of freed memory, in each of the C library's heaps
constexpr int heaps = 8;
// The server has so long to end its connections. A hung device must not keep the process alive.
constexpr unsigned stop_seconds = 5;

Server *running = nullptr;

// SIGTERM and SIGINT end the requests that run, and then the server. SIGQUIT, which is PostgreSQL's immediate
// shutdown, ends the server at once.
void take_signal(int signal) {
    if (signal == SIGQUIT) {
        _exit(exit_stopped);
    }
    const int error = errno;
    running->stop();
    alarm(stop_seconds);
    errno = error;
}

// Tests send a signal for it: an engine is lost, the last one first.
void lose_an_engine(int) {
    running->engines().break_last();
}

void leave_at_once(int) {
    _exit(exit_stopped);
}

void set_handler(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
    }
}

// What a request has freed stays for the next one, which would otherwise begin with thousands of pages that
// the system has to find and clear. Larger blocks are host/blocks.h's matter. With a heap for each thread
// each would keep its own.
void keep_freed_memory() {
    static_cast<void>(mallopt(M_ARENA_MAX, heaps));
    static_cast<void>(mallopt(M_TRIM_THRESHOLD, kept_bytes));
    static_cast<void>(mallopt(M_MMAP_THRESHOLD, kept_bytes));
}

}  // namespace

int main(int argc, char **argv) {
    Options options;
    bool help = false;
    if (!parse_options(argc, argv, &options, &help)) {
        return exit_usage;
    }
    if (help) {
        return exit_stopped;
    }
    if (options.logs_levels) {
        log_with_levels();
    }
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) == 0) {
        static_cast<void>(pthread_attr_setstacksize(&attributes, stack_bytes));
        static_cast<void>(pthread_setattr_default_np(&attributes));
        pthread_attr_destroy(&attributes);
    }
    raise_descriptor_limit();
    keep_freed_memory();

    Server server(options, [](const char *reason) {
        log_warning("giving up: %s", reason);
        name_current_request();
        _exit(exit_given_up);
    });
    running = &server;
    name_requests_of_faults();
    set_handler(SIGPIPE, SIG_IGN);
    set_handler(SIGHUP, SIG_IGN);
    set_handler(SIGQUIT, take_signal);
    set_handler(SIGALRM, leave_at_once);
    const Status status = server.start();
    if (!status.ok()) {
        log_warning("could not start: %s", status.message);
        return exit_not_started;
    }
    set_handler(SIGTERM, take_signal);
    set_handler(SIGINT, take_signal);
    if (options.testing) {
        set_handler(SIGUSR1, lose_an_engine);
    }
    const Status ran = guarded([&] {
        server.run();
        return Status{};
    });
    if (!ran.ok()) {
        log_warning("giving up: %s", ran.message);
        _exit(exit_given_up);
    }
    // A device that is still being opened, or hangs, is left to the kernel.
    set_handler(SIGTERM, leave_at_once);
    alarm(stop_seconds);
    return exit_stopped;
}
