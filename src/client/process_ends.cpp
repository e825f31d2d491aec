#include "client/process_ends.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "client/server_process.h"

namespace pg_gpu::client {

namespace {

struct ProcessEnd {
    pid_t pid;
    int status;
};

}  // namespace

// As sockets and locks, which the name is explained beside (connection.h).
static constexpr char kFileName[] = "pgsql_tmp.pg_gpu.ends";
static constexpr char kNewFileName[] = "pgsql_tmp.pg_gpu.ends.new";
static constexpr int kKeptEnds = 16;

// The youngest first; the supervisor's.
static ProcessEnd ends[kKeptEnds];
static int end_count = 0;

void forget_process_ends() {
    end_count = 0;
    unlink(kFileName);
}

// Readers find the old file or the new one. Who finds none, because the disk is full, knows nothing.
void note_process_end(pid_t pid, int status) {
    memmove(ends + 1, ends, (kKeptEnds - 1) * sizeof(ProcessEnd));
    ends[0] = {pid, status};
    end_count = Min(end_count + 1, kKeptEnds);
    const int file = open(kNewFileName, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    const size_t bytes = static_cast<size_t>(end_count) * sizeof(ProcessEnd);
    const bool written = write(file, ends, bytes) == static_cast<ssize_t>(bytes);
    close(file);
    if (!written || rename(kNewFileName, kFileName) != 0)
        unlink(kNewFileName);
}

// What a fault in the process raises, and a library that finds its data broken. An administrator, the
// supervisor and the kernel's search for memory kill with others.
static bool is_of_fault(int signal) {
    return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

static bool is_crash(int status) {
    return WIFSIGNALED(status) ? is_of_fault(WTERMSIG(status))
                               : WIFEXITED(status) && WEXITSTATUS(status) == kGivenUpStatus;
}

End end_of_process(pid_t pid, char *text, size_t bytes) {
    const int file = open(kFileName, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return End::Unknown;
    ProcessEnd known[kKeptEnds];
    const ssize_t got = read(file, known, sizeof(known));
    close(file);
    const size_t count = got > 0 ? static_cast<size_t>(got) / sizeof(ProcessEnd) : 0;
    for (size_t i = 0; i < count; i++)
        if (known[i].pid == pid) {
            strlcpy(text, describe_end(known[i].status), bytes);
            return is_crash(known[i].status) ? End::Crash : End::Other;
        }
    return End::Unknown;
}

}  // namespace pg_gpu::client
