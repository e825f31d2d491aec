#include "supervisor/server_log.h"

#include <unistd.h>

#include <cerrno>

namespace pg_gpu::client {

// A period's lines beyond this number are only counted.
static constexpr int kPeriodMs = 10000;
static constexpr int kMaxLines = 100;

namespace {

struct ServerLog {
    pid_t pid = 0;
    int output = -1;
    char line[1024];  // has room for the longest line that the process writes itself (cuda/server/log.cpp)
    size_t used = 0;
    TimestampTz period_end = 0;
    int reported = 0;  // in this period
    int left_out = 0;
    char last_left_out[sizeof(line)];
    bool has_last_words = false;
    protocol::Subject subject;
    uint32 engine;
};

}  // namespace

static ServerLog state;

// Lines of the process's own begin with "<4>": 4 and less are warnings of syslog's and worse, 7 are for
// debugging. Those of libraries have no level.
static int take_level(const char **line) {
    const char *text = *line;
    if (text[0] != '<' || text[1] < '0' || text[1] > '7' || text[2] != '>')
        return LOG;
    *line = text + 3;
    return text[1] <= '4' ? WARNING : text[1] == '7' ? DEBUG1 : LOG;
}

static void report_left_out() {
    if (state.left_out > 0)
        ereport(LOG, (errmsg("pg_gpu server process %d: %d further lines were left out",
                             static_cast<int>(state.pid), state.left_out),
                      errdetail("The last of them was \"%s\".", state.last_left_out)));
    state.left_out = 0;
}

static void begin_period(TimestampTz now) {
    report_left_out();
    state.reported = 0;
    state.period_end = TimestampTzPlusMilliseconds(now, kPeriodMs);
}

// It says of which request it ends. The last one counts.
static void note_last_words(const char *text) {
    protocol::Subject subject;
    uint32 engine;
    if (sscanf(text, protocol::last_words, &subject.database, &subject.index, &subject.kind, &subject.shape,
               &engine) != 5)
        return;
    state.has_last_words = true;
    state.subject = subject;
    state.engine = engine;
}

bool take_last_words(protocol::Subject *subject, Path *path) {
    if (!state.has_last_words)
        return false;
    state.has_last_words = false;
    *subject = state.subject;
    *path = state.engine == static_cast<uint32>(protocol::EngineName::cuda) ? Path::Cuda : Path::Host;
    return true;
}

static void report_line() {
    if (state.used == 0)
        return;
    state.line[state.used] = '\0';
    state.used = 0;
    const char *text = state.line;
    const int level = take_level(&text);
    note_last_words(text);
    if (state.reported == kMaxLines) {
        state.left_out++;
        strlcpy(state.last_left_out, text, sizeof(state.last_left_out));
        return;
    }
    state.reported++;
    ereport(level, (errmsg("pg_gpu server process %d: %s", static_cast<int>(state.pid), text)));
}

// Takes ASCII as it is, and others as what can be shown: the formats of the log, and whoever looks at it,
// want characters of an encoding, and others than ASCII's could be anything.
static void take(const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n')
            report_line();
        else if (state.used < sizeof(state.line) - 1)
            state.line[state.used++] = bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i]
                                       : bytes[i] == '\t'                 ? ' '
                                                                          : '?';
    }
}

static void close_output() {
    if (state.output < 0)
        return;
    report_line();
    close(state.output);
    state.output = -1;
}

void follow_server_log(pid_t pid, int output) {
    state.pid = pid;
    state.output = output;
    state.used = 0;
    state.has_last_words = false;
}

int read_server_log() {
    constexpr size_t kPipeBytes = 65536;
    const TimestampTz now = GetCurrentTimestamp();
    if (now >= state.period_end)
        begin_period(now);
    char bytes[4096];
    for (size_t taken = 0; state.output >= 0 && taken < kPipeBytes;) {
        const ssize_t count = read(state.output, bytes, sizeof(bytes));
        if (count > 0) {
            take(bytes, count);
            taken += count;
        } else if (count == 0) {
            close_output();
        } else if (errno != EINTR) {
            break;
        }
    }
    // Whoever has had its share is looked at in the supervisor's next turn.
    return state.reported < kMaxLines ? state.output : -1;
}

void end_server_log() {
    read_server_log();
    close_output();
    report_left_out();
}

}  // namespace pg_gpu::client
