#include "supervisor/server_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "rpc/rpc.h"
#include "settings.h"

namespace pg_gpu::client {

static constexpr int kMaxArguments = 24;
static constexpr int kArgumentBytes = 32;
static constexpr int kLifeLine = STDIN_FILENO;  // in the server

const char *server_executable() {
    static char path[MAXPGPATH] = "";
    const char *named = getenv("PG_GPU_SERVER");
    Dl_info library;
    if (named != nullptr) {
        strlcpy(path, named, sizeof(path));
    } else if (dladdr(path, &library) != 0) {
        strlcpy(path, library.dli_fname, sizeof(path));
        get_parent_directory(path);
        join_path_components(path, path, "pg_gpu_server");
    }
    return path;
}

namespace {

// argv of the server, made before the fork: after it nothing may allocate.
struct Arguments {
    int count;
    const char *list[kMaxArguments + 1];
    char numbers[kMaxArguments][kArgumentBytes];
};

}  // namespace

static void add_argument(Arguments *arguments, const char *text) {
    Assert(arguments->count < kMaxArguments);
    arguments->list[arguments->count++] = text;
    arguments->list[arguments->count] = nullptr;
}

static void add_number(Arguments *arguments, const char *name, int64 number) {
    add_argument(arguments, name);
    char *text = arguments->numbers[arguments->count];
    pg_snprintf(text, kArgumentBytes, INT64_FORMAT, number);
    add_argument(arguments, text);
}

static void make_arguments(Arguments *arguments) {
    constexpr int64 kMebibyte = 1048576;
    const ServerSettings settings = server_settings();
    arguments->count = 0;
    add_argument(arguments, "pg_gpu_server");
    add_argument(arguments, "--socket");
    add_argument(arguments, kSocketName);
    add_number(arguments, "--parent", getpid());
    add_number(arguments, "--watch-descriptor", kLifeLine);
    add_argument(arguments, "--log-levels");
    add_number(arguments, "--host-memory", settings.host_memory_limit * kMebibyte);
    add_number(arguments, "--device-memory", settings.device_memory_limit * kMebibyte);
    add_number(arguments, "--transfer-memory", settings.transfer_memory_limit * kMebibyte);
    // With 0 the server chooses, which knows what control groups leave of the processors.
    add_number(arguments, "--threads", settings.threads);
    if (settings.devices[0] != '\0') {
        add_argument(arguments, "--devices");
        add_argument(arguments, settings.devices);
    }
}

// ---- in the child, between fork and exec: system calls only
// ------------------------------------------------

// The postmaster may be protected from the kernel's search for memory; the server process, which holds much
// and can be lost, is to be found first.
static void offer_to_oom_killer() {
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    static const char score[] = "500";
    [[maybe_unused]] const ssize_t written = write(file, score, sizeof(score) - 1);
    close(file);
}

static bool close_from(unsigned first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0U) == 0)
        return true;
#endif
    // Linux before 5.9. The limit may be a thousand million; a supervisor has a handful, all of low numbers.
    constexpr rlim_t kMax = 65536;
    rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return false;
    for (rlim_t file = first; file < Min(files.rlim_cur, kMax); file++)
        close(static_cast<int>(file));
    return true;
}

[[noreturn]] static void become_server(const char *executable, const Arguments &arguments, int life_line,
                                       int output, pid_t parent) {
    constexpr int kNoExec = 127;
    // A handler of PostgreSQL's must not run here, so the mask goes last.
    for (int number = 1; number < NSIG; number++)
        std::signal(number, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || dup2(life_line, kLifeLine) < 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0 || !close_from(STDERR_FILENO + 1))
        _exit(kNoExec);
    offer_to_oom_killer();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execv(executable, const_cast<char **>(arguments.list));
    _exit(kNoExec);
}

// ---- in the supervisor ------------------------------------------------------------------------------------

static void close_both(const int *ends) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    errno = error;
}

bool start_server_process(ServerProcess *process) {
    Arguments arguments;
    make_arguments(&arguments);
    const char *executable = server_executable();
    if (access(executable, X_OK) != 0)
        return false;
    int life[2];
    int output[2];
    if (pipe2(life, O_CLOEXEC) != 0)
        return false;
    // Neither end waits for the other: a supervisor that is held up costs lines of the log, and no answers.
    if (pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0) {
        close_both(life);
        return false;
    }
    const pid_t parent = getpid();
    // No signal handler of the parent's may run in the child before exec.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0)
        become_server(executable, arguments, life[0], output[1], parent);
    const int error = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) {
        close_both(life);
        close_both(output);
        errno = error;
        return false;
    }
    close(life[0]);
    close(output[1]);
    *process = {pid, life[1], output[0]};
    return true;
}

static void forget(ServerProcess *process) {
    close(process->life_line);
    *process = {0, -1, -1};
}

bool reap_server_process(ServerProcess *process, int *status) {
    if (process->pid == 0 || waitpid(process->pid, status, WNOHANG) != process->pid)
        return false;
    forget(process);
    return true;
}

static constexpr int kMaxAbandoned = 16;
static pid_t abandoned[kMaxAbandoned];
static int abandoned_count = 0;

int reap_abandoned_processes() {
    int left = 0;
    for (int i = 0; i < abandoned_count; i++) {
        int status;
        // An error means that it is no child of ours any more.
        if (waitpid(abandoned[i], &status, WNOHANG) == 0)
            abandoned[left++] = abandoned[i];
    }
    return abandoned_count = left;
}

static bool wait_for_end(ServerProcess *process, int timeout_ms, int *status) {
    constexpr int kPauseMs = 5;
    for (int waited = 0; waited < timeout_ms; waited += kPauseMs) {
        if (reap_server_process(process, status))
            return true;
        pg_usleep(kPauseMs * 1000L);
    }
    return false;
}

bool end_server_process(ServerProcess *process, int timeout_ms, int *status) {
    kill(process->pid, SIGTERM);
    if (wait_for_end(process, timeout_ms, status))
        return true;
    kill(process->pid, SIGKILL);
    if (wait_for_end(process, timeout_ms, status))
        return true;
    if (abandoned_count < kMaxAbandoned)
        abandoned[abandoned_count++] = process->pid;
    forget(process);
    return false;
}

const char *describe_end(int status) {
    static char text[64];
    if (WIFSIGNALED(status))
        pg_snprintf(text, sizeof(text), "signal %d (%s)", WTERMSIG(status), pg_strsignal(WTERMSIG(status)));
    else
        pg_snprintf(text, sizeof(text), "exit status %d", WEXITSTATUS(status));
    return text;
}

}  // namespace pg_gpu::client
