// The room's header: the time a request is expected to take on each path, which paths are there, and the
// choice of one. The time that requests took is noted here, and later choices learn from it.
#pragma once

#include "cost/constants.h"
#include "cost/record.h"
#include "rpc/rpc.h"

namespace pg_gpu::client {

static_assert(kPaths == kRecordedPaths);

// ---- kinds of requests ------------------------------------------------------------------------------------

// The access methods' request_kinds.h lists the kinds there are. Here a kind is a number, and what its access
// method says of it.
enum class RequestKind : int;
inline constexpr int kRequestKinds = 14;

// A request as the cost model sees it.
struct Request {
    RequestKind kind;
    int key_bits;    // 32, 64, 128, as the server has them; of a point all columns together
    int runs;        // it reads
    uint64 items;    // keys, ranges or boxes asked for; entries to sort or merge; rows of queries' tables
    uint64 entries;  // entries of the runs together, but for sorting and merging
    uint64 results;  // entries expected to match, of all items together; when counting those that the paged
                     // path must look at one by one, for which ranks or a directory don't do; of columns rows
                     // expected to come back
    int columns;     // of requests to columns: the number of those whose codes are read
    // These are about inverted lists, summed up over queries and runs; `items` are queries then, and
    // `entries` postings of lists of which one is enough.
    uint64 lists = 0;
    uint64 shortest = 0;  // postings of the shortest list, where a query asks for all
    uint64 second = 0;    // and of the second shortest
    // Windows of documents in which each list is looked through, where one list is enough.
    uint64 windows = 0;
    Oid index = InvalidOid;     // index that the request is about
    uint64 server_results = 0;  // when counting boxes, what the server must look at, where that is more
    // Times that the index's requests took count in the choice of a path, those of the same shape before
    // others; else estimates do alone.
    bool learns = false;
    uint32 shape = 0;
    bool needs_processors = false;  // no device can do it
};

inline constexpr double kMebibyte = 1048576.0;

// The facts about a kind of request by which its cost is computed.
struct RequestCost {
    // Returns true when the server answers it from runs' mirrors.
    bool uses_mirrors;
    // Returns the bytes that go through the transfer buffer.
    double (*bytes_moved)(const Request &request);
    // Returns the microseconds of the path's work, without queues and the way there.
    double (*work)(const Request &request, Path path);
    // Are waits beside the work measured?
    bool waits_are_known = false;
};

const RequestCost &cost_of(RequestKind kind);
const char *request_name(RequestKind kind);

inline double entry_bytes(const Request &request) {
    return request.key_bits / 8.0 + sizeof(ItemPointerData);
}

// ---- choosing ---------------------------------------------------------------------------------------------

// A request on the path that was chosen for it.
struct Attempt {
    Oid index = InvalidOid;  // invalid: nothing is learned from it
    RequestKind kind{};
    uint32 shape = 0;
    Path path = Path::Paged;
    PathEstimates estimates = {};
    instr_time began = {};
    double left_out_before = 0;  // the session's microseconds that were left out until then (leave_out)
    double shared_before = 0;    // and those that others' requests may have had of its own (note_shared)
    // The path that was chosen, but gave no answer, so that `path` had to; Paged: none.
    Path declined = Path::Paged;
    double declined_microseconds = 0;  // until it was given up
};

struct Choice {
    Path path;
    // Microseconds it is expected to save over the paged path; mirrors are loaded when it pays.
    double saving;
    Attempt attempt = {};
    Oid index = InvalidOid;  // index that the request is about
};

// Chooses where to send it, by pg_gpu.path, cost, what such requests took lately, and what is there. Connects
// to the server when another path than Paged is worth it, and waits at most pg_gpu.request_timeout, once. A
// forced path that isn't there gives Paged and one NOTICE a session.
Choice choose_path(const Request &request);

// Both note the time of a request for which choose_path chose among paths, so that later choices know it. The
// caller calls one of them once the request is answered, whoever answered in the end, on all paths at the
// same point. note_request_done is about the last request that a path was chosen for, if it asked this index;
// it took until now. note_taken is about an attempt whose time the caller has measured.
void note_request_done(Relation index, RequestKind kind);
// Takes that last request over, so that what is asked meanwhile doesn't replace it; of no index if there is
// none.
Attempt take_attempt(Relation index, RequestKind kind);
void note_taken(const Attempt &attempt, double microseconds);
// The attempt's path gives no answer, and the paged path begins. Its time is noted for both.
void fall_back(Attempt *attempt);
// Microseconds that were spent since the last path was chosen and say nothing about it.
void leave_out(double microseconds);
// A request computed for so many microseconds beside so many others. Had it been alone, it might have taken
// its share of that time.
void note_shared(double microseconds, uint32 others);

inline double microseconds_since(const instr_time &began) {
    instr_time taken;
    INSTR_TIME_SET_CURRENT(taken);
    INSTR_TIME_SUBTRACT(taken, began);
    return static_cast<double>(INSTR_TIME_GET_MICROSEC(taken));
}

// Returns how many microseconds the cost model expects the request to take on a path, with mirrors in place.
double estimate_microseconds(const Request &request, Path path);

// Does pg_gpu.path name the server?
bool is_path_forced();

// May the server be asked about so many items, where fewer than `fewest` aren't worth a request?
bool may_use_server(uint64 items, uint64 fewest);

// Notes that the server can't be sent this request, so that gpu.stat reports why.
void decline(RequestKind kind, const Choice &choice, const char *reason);

// A request that only the paged path can answer: gpu.stat reports why, where another one is forced.
void note_unsuited(RequestKind kind, Oid index, const char *reason);

// Counts a request that the paged path answered, for gpu.stat: begin_paged before the work, end_paged after
// it, or count_paged where its time is made of parts.
struct PagedRequest {
    RequestKind kind;
    uint64 items;
    instr_time began;
    double processor_began;  // microseconds of processor time; below 0 where waits aren't measured
};
PagedRequest begin_paged(RequestKind kind, uint64 items);
void end_paged(const PagedRequest &request);
void count_paged(RequestKind kind, uint64 items, const instr_time &taken);

// Returns how many microseconds longer the part of a request that is about one run takes on pages than on the
// path, beside other runs. The result is below zero when pages are faster.
double saved_by_server(const Request &of_run, Path path);

// ---- which paths are there --------------------------------------------------------------------------------

// Connected, and the engine is there: else false, and why is remembered. The first thing every request does.
bool ready_for(Path path);

// Connected, whatever its engines, to a server that is there already: for those who only look at it. Doesn't
// wait again for a server that has just been waited for in vain.
bool reach_server();

// Does what ready_for does, but waits for a server that is being started, and for an engine that is being
// opened: at most pg_gpu.request_timeout.
bool await_engine(Path path);

// Does the same without starting a server process: waits only where a supervisor is about to start one.
bool await_engine_without_starting(Path path);

// Sleeps, unless the session is interrupted.
void pause_for(long milliseconds);

// A request was answered, with what the server needed.
void note_answered(RequestKind kind, Path path, uint64 items, uint64 bytes,
                   const protocol::ReplyHeader &reply);

// A request about this index was not answered: counts the fall-back with its reason, and lets the path cool
// down where another attempt would fail or wait again. Returns false.
bool note_failed(RequestKind kind, Path path, Oid index);
inline bool note_failed(RequestKind kind, const Choice &choice) {
    return note_failed(kind, choice.path, choice.index);
}

// ---- loads, and what they would save ----------------------------------------------------------------------

// _PG_init calls it while preloading, to have room in shared memory.
void reserve_cost_learner();

// Notes that mirrors were loaded, which took `taken` microseconds where `estimate` were expected.
void note_load(double estimate, double taken);
// Returns the microseconds a load is expected to take, learned from recent loads of its size.
double expected_load(double estimate);

// Adds the microseconds that a request would have saved had the run been resident. The sum is weighed against
// the cost of loading the run. All sessions add to one sum, so that short sessions load what many of them
// miss. There is room for 128 runs; the least missed ones make room for others and begin at zero again.
void add_saving(const protocol::RunName &run, double microseconds);
double saving_of_run(const protocol::RunName &run);
void forget_saving(const protocol::RunName &run);

}  // namespace pg_gpu::client
