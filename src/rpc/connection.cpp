#include "rpc/rpc.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <ctime>

#include "compat.h"
#include "rpc/buffer.h"
#include "settings.h"

namespace pg_gpu::client {

namespace {

struct Connection {
    pgsocket socket = PGINVALID_SOCKET;
    WaitEventSet *waits = nullptr;
    int socket_place = 0;  // in it
    uint64 number = 0;     // number of this connection
    uint64 request = 0;    // number of the last one
    uint16 type = 0;       // type of the request under way
    int64 sent_at = 0;     // the last request
    int64 deadline = 0;
    bool busy = false;  // a request is under way, or was when an error passed by
    int held = 0;       // things on the server that end with the transaction
    uint32 engines = 0;
    uint32 opening = 0;
};

}  // namespace

static Connection connection;
// The number that the server last reported.
static int last_host_threads = 1;
static constexpr uint32 kMaxHostThreads = 65536;
static uint64 connections = 0;
static RequestFailure failure = RequestFailure::None;
static char reason[256] = "";

const char *path_name(Path path) {
    static const char *const names[] = {"paged", "host", "cuda"};
    return names[static_cast<int>(path)];
}

// ---- why not ----------------------------------------------------------------------------------------------

bool fail(RequestFailure why, const char *format, ...) {
    failure = why;
    va_list arguments;
    va_start(arguments, format);
    pg_vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return false;
}

RequestFailure last_failure() {
    return failure;
}

const char *last_reason() {
    return reason;
}

bool fail_by_reply(const protocol::ReplyHeader &reply) {
    using gpu_engine::StatusCode;
    switch (result_of(reply)) {
        case protocol::ReplyResult::not_resident:
            return fail(RequestFailure::NotWanted, "runs are not resident");
        case protocol::ReplyResult::stale:
            return fail(RequestFailure::Refused, "dead bitmaps are out of date");
        case protocol::ReplyResult::loading:
            return fail(RequestFailure::Busy, "another session loads the run");
        case protocol::ReplyResult::mismatch:
            return fail(RequestFailure::Version, "the server process is of another version");
        default:
            break;
    }
    // The server's word: it may lack its end.
    char message[gpu_engine::Status::message_capacity];
    memcpy(message, reply.status.message, sizeof(message));
    message[sizeof(message) - 1] = '\0';
    if (result_of(reply) == protocol::ReplyResult::busy)
        return fail(RequestFailure::Busy, "%s", message[0] != '\0' ? message : "the server process is busy");
    switch (reply.status.code) {
        case StatusCode::out_of_memory:
        case StatusCode::insufficient_space:
            return fail(RequestFailure::Memory, "%s", message);
        case StatusCode::unavailable:
            return fail(RequestFailure::NoEngine, "%s", message);
        case StatusCode::cancelled:
            return fail(RequestFailure::Deadline, "the server process gave up after pg_gpu.request_timeout");
        default:
            return fail(RequestFailure::Refused, "%s", message);
    }
}

// ---- idle connections -------------------------------------------------------------------------------------

// A connection that a session has not used for a while is closed, and with it the transfer buffer, by a
// timeout of the session's own, since an idle session runs nothing else. `in_use` is set from a request to
// the end of its transaction; then the handler closes only where the session waits for its client's next
// command, and looks again later otherwise. So nobody is in the middle of anything here.

static volatile sig_atomic_t in_use = 0;
static volatile sig_atomic_t closed_in_handler = 0;
static TimeoutId idle_timeout = MAX_TIMEOUTS;

// Between two commands of a transaction nothing of the transfer buffer is in use (rpc.h); what the server
// holds for the session would be lost. With track_activities off this isn't known.
static bool is_waiting_in_transaction() {
    return connection.held == 0 && !connection.busy && MyBEEntry != nullptr &&
           (MyBEEntry->st_state == STATE_IDLEINTRANSACTION ||
            MyBEEntry->st_state == STATE_IDLEINTRANSACTION_ABORTED);
}

static void close_when_idle() {
    if (connection.socket == PGINVALID_SOCKET || (in_use && !is_waiting_in_transaction()))
        return;
    close(connection.socket);
    connection.socket = PGINVALID_SOCKET;
    closed_in_handler = 1;
    drop_buffer_in_handler();
}

// Does what the signal handler could not do.
static void finish_closing() {
    if (!closed_in_handler)
        return;
    closed_in_handler = 0;
    ReleaseExternalFD();
    for (int i = take_uncounted_descriptors(); i > 0; i--)
        ReleaseExternalFD();
    disconnect();
}

static TimeoutId registered_idle_timeout() {
    if (idle_timeout == MAX_TIMEOUTS)
        idle_timeout = RegisterTimeout(USER_TIMEOUT, close_when_idle);
    return idle_timeout;
}

// Is called at the end of a transaction.
static void watch_idle_connection() {
    in_use = 0;
    if (connection.socket != PGINVALID_SOCKET)
        enable_timeout_after(registered_idle_timeout(), connection_idle_timeout());
    else if (idle_timeout != MAX_TIMEOUTS)
        disable_timeout(idle_timeout, false);
}

static void look_again_and_again() {
    enable_timeout_every(registered_idle_timeout(),
                         TimestampTzPlusMilliseconds(GetCurrentTimestamp(), connection_idle_timeout()),
                         connection_idle_timeout());
}

// Is called at each request, because nothing of ours runs when a statement ends: from a transaction's first
// request on the timeout looks again and again whether the connection is in use. Only sessions have one,
// which wait for a client.
static void watch_idle_transaction() {
    if (in_use)
        return;
    in_use = 1;
    if (MyBackendType == B_BACKEND && IsTransactionState())
        look_again_and_again();
}

// ---- the ends of transactions -----------------------------------------------------------------------------

static void end_of_transaction(XactEvent event, void *) {
    switch (event) {
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PARALLEL_ABORT:
            if (connection.busy || connection.held > 0)
                disconnect();
            break;
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_PARALLEL_COMMIT:
        case XACT_EVENT_PREPARE:
            if (connection.held > 0)
                disconnect();
            break;
        default:
            return;
    }
    forget_results();
    // An error of a statement that asked nothing has stopped the timeout, too.
    const bool is_unwatched = connection.socket != PGINVALID_SOCKET && idle_timeout != MAX_TIMEOUTS &&
                              !get_timeout_active(idle_timeout);
    if (in_use || is_unwatched)
        watch_idle_connection();
}

static void end_of_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    if (event != SUBXACT_EVENT_ABORT_SUB)
        return;
    if (connection.busy || connection.held > 0)
        disconnect();
    // An error of a command has stopped all of the session's timeouts.
    if (in_use && MyBackendType == B_BACKEND && !get_timeout_active(registered_idle_timeout()))
        look_again_and_again();
}

void register_connection_callbacks() {
    RegisterXactCallback(end_of_transaction, nullptr);
    RegisterSubXactCallback(end_of_subtransaction, nullptr);
}

void hold_on_server() {
    connection.held++;
}

void release_on_server() {
    if (connection.held > 0)
        connection.held--;
}

// ---- connecting -------------------------------------------------------------------------------------------

void disconnect() {
    if (connection.waits != nullptr)
        FreeWaitEventSet(connection.waits);
    if (connection.socket != PGINVALID_SOCKET) {
        close(connection.socket);
        ReleaseExternalFD();
    }
    drop_buffer();
    connection = {};
}

bool is_connected() {
    return connection.socket != PGINVALID_SOCKET;
}

uint64 connection_number() {
    return connection.number;
}

int host_threads() {
    return last_host_threads;
}

static bool has_bit(uint32 engines, Path path) {
    const auto engine = path == Path::Cuda ? protocol::EngineName::cuda : protocol::EngineName::host;
    return path != Path::Paged && ((engines >> static_cast<unsigned>(engine)) & 1) != 0;
}

bool has_engine(Path path) {
    return has_bit(connection.engines, path);
}

bool is_opening_engine(Path path) {
    return has_bit(connection.opening, path);
}

static int64 monotonic_microseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

// The socket's file may be entered by its owner alone; this is for a data directory that was copied about.
static bool is_our_peer(int socket) {
    ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static int timeout_ms = 0;  // 0: pg_gpu.request_timeout

void set_request_timeout(int milliseconds) {
    timeout_ms = milliseconds;
}

static int64 request_milliseconds() {
    return timeout_ms > 0 ? timeout_ms : request_timeout();
}

// A Unix socket connects at once, unless its queue of connections is full, as when very many sessions come
// together. It can't be waited for otherwise than by trying again. Returns false with errno; the user's
// cancel leaves by ereport.
static bool connect_in_time(int socket, const sockaddr_un &address) {
    constexpr long kLongestPauseMs = 32;
    static uint32 wait_event = 0;
    if (wait_event == 0)
        wait_event = named_wait_event("PgGpuConnect");
    const int64 until = monotonic_microseconds() + request_milliseconds() * 1000;
    for (long pause = 1; connect(socket, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0;
         pause = Min(pause * 2, kLongestPauseMs)) {
        if (errno != EAGAIN || ShutdownRequestPending || monotonic_microseconds() >= until)
            return false;
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, pause, wait_event);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
    return true;
}

static bool open_socket() {
    if (!AcquireExternalFD())
        return fail(RequestFailure::Refused, kTooManyFiles);
    const int opened = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opened < 0) {
        ReleaseExternalFD();
        return fail(RequestFailure::Refused, "no socket: %m");
    }
    connection.socket = opened;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strlcpy(address.sun_path, kSocketName, sizeof(address.sun_path));
    if (!connect_in_time(opened, address)) {
        if (errno == EAGAIN)
            return fail(RequestFailure::Deadline, "the server process accepts no connections");
        if (errno == ENOENT || errno == ECONNREFUSED)
            return fail(RequestFailure::NoServer, "no server process is running");
        return fail(RequestFailure::NoServer, "cannot connect to the server process: %m");
    }
    if (!is_our_peer(opened))
        return fail(RequestFailure::NoServer, "the server process belongs to another user");
    return true;
}

// Making the set raises an error when a descriptor isn't to be had: PostgreSQL and the system are asked
// first.
static bool open_wait_set() {
    if (!AcquireExternalFD())
        return fail(RequestFailure::Refused, kTooManyFiles);
    ReleaseExternalFD();
    const int free = dup(connection.socket);
    if (free < 0)
        return fail(RequestFailure::Refused, "no descriptor to wait with: %m");
    close(free);
    connection.waits = create_persistent_wait_set(3);
    connection.socket_place =
        AddWaitEventToSet(connection.waits, WL_SOCKET_READABLE, connection.socket, nullptr, nullptr);
    AddWaitEventToSet(connection.waits, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, nullptr);
    AddWaitEventToSet(connection.waits, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, nullptr, nullptr);
    return true;
}

static bool note_hello(const protocol::HelloReply &reply) {
    if (result_of(reply.header) != protocol::ReplyResult::done)
        return fail_by_reply(reply.header);
    if (reply.version != protocol::version)
        return fail(RequestFailure::Version, "the server process is of another version");
    connection.engines = reply.engines;
    last_host_threads = static_cast<int>(Min(Max(reply.threads, 1U), kMaxHostThreads));
    connection.opening = reply.opening;
    return true;
}

static bool greet() {
    auto hello = make_message<protocol::Hello>(protocol::Message::hello, Path::Host);
    hello.version = protocol::version;
    hello.process = MyProcPid;
    hello.database = MyDatabaseId;
    // A supervisor has no user.
    hello.user = OidIsValid(MyDatabaseId) ? GetSessionUserId() : InvalidOid;
    hello.layout = protocol::message_layout;
    protocol::HelloReply reply;
    return exchange(&hello, &reply) && note_hello(reply);
}

bool ping_server() {
    protocol::RequestHeader ping = make_header(protocol::Message::ping, Path::Host, sizeof(ping));
    protocol::HelloReply reply;
    return send_request(&ping, 0) && receive_reply(&reply.header, sizeof(reply)) && note_hello(reply);
}

// Has the server closed its end since the last request?
static bool is_closed_by_server() {
    char byte;
    const ssize_t got = recv(connection.socket, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
    return !(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

bool connect_to_server() {
    watch_idle_transaction();
    finish_closing();
    if (is_connected() && (connection.busy || is_closed_by_server()))
        disconnect();
    if (!server_wanted()) {
        disconnect();
        return fail(RequestFailure::NotWanted, "pg_gpu.server is off");
    }
    if (is_connected())
        return true;
    connection.number = ++connections;
    // The connection counts as busy until hello is answered: an error on the way must not leave half a
    // connection for the next request.
    connection.busy = true;
    if (open_socket() && open_wait_set() && greet())
        return true;
    disconnect();
    return false;
}

// ---- a request --------------------------------------------------------------------------------------------

static bool lose(RequestFailure why, const char *what) {
    disconnect();
    return fail(why, "%s", what);
}

// Waits until the socket is ready; the user's cancel leaves from here by ereport. Returns false, with the
// connection lost, when time has run out.
static bool wait_for_socket(uint32 events) {
    static uint32 wait_event = 0;
    if (wait_event == 0)
        wait_event = named_wait_event("PgGpuRequest");
    ModifyWaitEvent(connection.waits, connection.socket_place, events, nullptr);
    for (;;) {
        const int64 left = connection.deadline - monotonic_microseconds();
        if (left <= 0)
            return lose(RequestFailure::Deadline, timeout_ms > 0 ? "no answer to heartbeats"
                                                                 : "no answer within pg_gpu.request_timeout");
        WaitEvent occurred[3];
        const auto milliseconds = static_cast<long>(Min(left / 1000 + 1, int64{INT_MAX}));
        const int count =
            WaitEventSetWait(connection.waits, milliseconds, occurred, lengthof(occurred), wait_event);
        bool ready = false;
        for (int i = 0; i < count; i++) {
            if ((occurred[i].events & WL_LATCH_SET) != 0) {
                ResetLatch(MyLatch);
                CHECK_FOR_INTERRUPTS();
                // Only background workers that handle SIGTERM themselves set this.
                if (ShutdownRequestPending)
                    return lose(RequestFailure::Lost, "PostgreSQL is shutting down");
            }
            if ((occurred[i].events & (WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE)) != 0)
                ready = true;
        }
        if (ready)
            return true;
    }
}

static uint32 purpose = 1;

void begin_purpose() {
    // 0 is no purpose.
    if (++purpose == 0)
        purpose = 1;
}

uint32 current_purpose() {
    return purpose;
}

static protocol::Subject subject = {};

void set_subject(const protocol::Subject &of_next) {
    subject = of_next;
}

const protocol::Subject &current_subject() {
    return subject;
}

// Estimates aren't exact, and other requests may slow this one. They are made of settings that any user may
// change, too. A stopped server isn't waited for so long, as the supervisor ends it.
static constexpr double kTimesEstimate = 4;
static constexpr double kMaxWorkMs = 3600000;

bool send_request(protocol::RequestHeader *request, double estimate, int fd) {
    const double timeout = static_cast<double>(request_milliseconds()) +
                           Min(Max(kTimesEstimate * estimate / 1000, 0.0), kMaxWorkMs);
    const auto milliseconds = static_cast<uint32>(Min(timeout, double{INT_MAX}));
    connection.sent_at = monotonic_microseconds();
    connection.deadline = connection.sent_at + int64{milliseconds} * 1000;
    connection.busy = true;
    connection.type = request->type;
    request->deadline_ms = milliseconds;
    request->request = ++connection.request;

    iovec piece = {request, request->bytes};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    }
    for (;;) {
        const ssize_t sent = sendmsg(connection.socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent == static_cast<ssize_t>(request->bytes))
            return true;
        // What the server has said before it closed the connection is still to be read.
        if (sent < 0 && errno == EPIPE)
            return true;
        if (sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return lose(RequestFailure::Lost, "the connection to the server process broke");
        if (errno != EINTR && !wait_for_socket(WL_SOCKET_WRITEABLE))
            return false;
    }
}

// A reply that is not `done` may be its header alone.
static bool is_reply_to_request(const protocol::ReplyHeader &reply, ssize_t bytes, uint32 wanted) {
    return bytes >= static_cast<ssize_t>(sizeof(reply)) && reply.magic == protocol::magic &&
           reply.bytes == static_cast<uint32>(bytes) && reply.type == connection.type &&
           reply.request == connection.request &&
           (bytes == static_cast<ssize_t>(wanted) ||
            (bytes < static_cast<ssize_t>(wanted) && result_of(reply) != protocol::ReplyResult::done));
}

// Going to sleep and being woken takes longer than a small request does: so long an answer is looked for
// before.
static constexpr int64 kLookMicroseconds = 50;

static int64 round_trip = 0;

int64 last_round_trip() {
    return round_trip;
}

bool receive_reply(protocol::ReplyHeader *reply, uint32 reply_bytes) {
    const int64 look_until = monotonic_microseconds() + kLookMicroseconds;
    // A server that closed the connection without reading all resets it, which is said first.
    bool was_reset = false;
    for (;;) {
        // With MSG_TRUNC the result is the message's whole length, so that one that is too long is refused.
        const ssize_t got = recv(connection.socket, reply, reply_bytes, MSG_DONTWAIT | MSG_TRUNC);
        if (got > 0) {
            if (!is_reply_to_request(*reply, got, reply_bytes))
                return lose(RequestFailure::Lost, "the server process sent what is no reply");
            if (got < static_cast<ssize_t>(reply_bytes))
                memset(reinterpret_cast<char *>(reply) + got, 0, reply_bytes - got);
            connection.busy = false;
            round_trip = monotonic_microseconds() - connection.sent_at;
            return true;
        }
        if (got < 0 && errno == ECONNRESET && !was_reset) {
            was_reset = true;
            continue;
        }
        if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return lose(RequestFailure::Lost, "the server process closed the connection");
        if (errno != EINTR && monotonic_microseconds() >= look_until && !wait_for_socket(WL_SOCKET_READABLE))
            return false;
    }
}

}  // namespace pg_gpu::client
