// The room's header: a session's connection to the server process, made when first needed; messages and
// their replies; and the transfer buffer, where inputs and results lie. States and races are in README.md
// beside this file.
//
// Results are good until the next request of this session, whosever, or until a (sub)transaction aborts: use
// them up before other code runs.
#pragma once

#include "gpu_engine/protocol.h"
#include "settings.h"

namespace pg_gpu::client {

namespace protocol = gpu_engine::protocol;

enum class Path : int { Paged, Host, Cuda };
inline constexpr int kPaths = 3;
const char *path_name(Path path);

// A request to more runs than this is left to the paged path.
inline constexpr int kMaxRuns = 64;

// The socket lies in the data directory, which is the working directory of every process of PostgreSQL. The
// names begin with PG_TEMP_FILE_PREFIX, so that base backups and pg_rewind leave the files out.
inline constexpr char kSocketName[] = "pgsql_tmp.pg_gpu.socket";

// The reason why a request was not answered decides for how long the next ones take another path.
enum class RequestFailure : int {
    None,
    NotWanted,  // nothing is wrong: too small, or not resident
    NoServer,   // nothing listens
    NoEngine,   // the server has not got this engine
    Opening,    // the engine is still being opened
    Version,    // the server is of another version
    Deadline,   // no answer in time
    Lost,       // the connection broke
    Busy,       // the queue is full
    Memory,     // a limit of memory
    Refused,    // the request itself failed
};

inline constexpr char kTooManyFiles[] = "the session has as many files open as max_files_per_process lets it";

// Remembers the failure and its reason; returns false, so that callers can return it.
bool fail(RequestFailure failure, const char *format, ...) pg_attribute_printf(2, 3);
RequestFailure last_failure();
const char *last_reason();

// Connects and says hello unless that is done already and the server still there. Waits at most the
// pg_gpu.request_timeout. Returns false after a failure.
bool connect_to_server();

// Throws the connection and its transfer buffer away; the server then frees what it held for it.
void disconnect();

bool is_connected();

// Returns a number that distinguishes connections of this session; 0 when there is none.
uint64 connection_number();

// These return what the server has reported about an engine.
bool has_engine(Path path);
bool is_opening_engine(Path path);
// Returns how many threads the host engine has, as the server last said; 1 before it has said so.
int host_threads();
// Has the server report its engines again.
bool ping_server();

// Is called when something of this session's lies on the server (an array that is being loaded, or
// rows that are read): from then on the connection doesn't outlive the (sub)transaction's abort, nor the
// transaction.
void hold_on_server();
void release_on_server();

// Requests of this session have a purpose in common: the server evicts no mirror that it found or loaded for
// the same purpose. begin_purpose begins another one, whose number the requests have from now on.
void begin_purpose();
uint32 current_purpose();

// The next requests are about this, until another is set.
void set_subject(const protocol::Subject &subject);
const protocol::Subject &current_subject();

// Sets how long the supervisor's requests may take, in place of pg_gpu.request_timeout.
void set_request_timeout(int milliseconds);

inline protocol::RequestHeader make_header(protocol::Message type, Path path, uint32 bytes) {
    const auto engine = path == Path::Cuda ? protocol::EngineName::cuda : protocol::EngineName::host;
    return {protocol::magic,
            static_cast<uint16>(type),
            static_cast<uint16>(engine),
            bytes,
            0,
            0,
            current_purpose(),
            path_setting() != PathSetting::Auto ? 1U : 0U,
            current_subject()};
}

template <typename Message>
Message make_message(protocol::Message type, Path path) {
    Message message = {};
    message.header = make_header(type, path, sizeof(Message));
    return message;
}

// Sends a request and waits for its reply. `estimate` are microseconds the request should take; four times
// as long, an hour at most, and pg_gpu.request_timeout later it is given up. Returns false when the
// connection broke or time ran out; then the connection is gone. The caller looks at what the server
// answered. A cancel leaves by ereport(ERROR), and the abort of the (sub)transaction disconnects. `fd` is
// handed over unless it is -1.
bool send_request(protocol::RequestHeader *request, double estimate, int fd = -1);
bool receive_reply(protocol::ReplyHeader *reply, uint32 reply_bytes);

template <typename Message, typename Reply>
bool exchange(Message *message, Reply *reply, double estimate = 0, int fd = -1) {
    return send_request(&message->header, estimate, fd) && receive_reply(&reply->header, sizeof(Reply));
}

// Returns the microseconds from sending the last request that was answered to its reply.
int64 last_round_trip();

// Sends a request whose reply is the header alone.
template <typename Message>
bool exchange(Message *message, protocol::ReplyHeader *reply, double estimate = 0, int fd = -1) {
    return send_request(&message->header, estimate, fd) && receive_reply(reply, sizeof(*reply));
}

inline protocol::ReplyResult result_of(const protocol::ReplyHeader &reply) {
    return static_cast<protocol::ReplyResult>(reply.result);
}

// Makes a failure of a reply whose status isn't `done`, and returns false.
bool fail_by_reply(const protocol::ReplyHeader &reply);

// _PG_init calls it.
void register_connection_callbacks();

// ---- the transfer buffer (buffer.cpp) ---------------------------------------------------------------------

// Makes sure that there is a buffer of at least `least` bytes, better `wanted`; its content is lost when it
// grows. Returns false when memory is short or the limit of a session or of all is reached.
bool need_buffer(uint64 least, uint64 wanted);
uint64 buffer_bytes();
char *buffer_at(uint64 offset);
int buffer_descriptor();

// Copies bytes that are to be checked, since the server process may change the buffer while it is looked at.
// The copy is good until forget_results, with which each request and the transaction's end begin. The bytes
// must lie in the buffer.
const void *copy_of_results(uint64 offset, uint64 bytes);
void forget_results();

inline uint64 align_offset(uint64 offset) {
    return TYPEALIGN64(protocol::buffer_alignment, offset);
}

}  // namespace pg_gpu::client
