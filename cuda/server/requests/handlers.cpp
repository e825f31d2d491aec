// The functions that answer the kinds of requests.
#include <type_traits>

#include "server/requests/request.h"
#include "server/requests/run_set.h"
#include "server/requests/spread_results.h"

namespace gpu_engine::server {
namespace {

template <typename Function>
struct Parts;
template <typename Request, typename Reply>
struct Parts<void (*)(Work &, const Request &, Reply &)> {
    using RequestType = Request;
    using ReplyType = Reply;
};
template <typename Request, typename Reply>
struct Parts<void (*)(Spread &, const Request &, Reply &)> {
    using RequestType = Request;
    using ReplyType = Reply;
};

template <auto function>
constexpr Handler handler(bool computes) {
    using Request = typename Parts<decltype(function)>::RequestType;
    using Reply = typename Parts<decltype(function)>::ReplyType;
    static_assert(std::is_trivially_copyable_v<Request> && sizeof(Request) <= protocol::max_message);
    static_assert(std::is_trivially_copyable_v<Reply> && sizeof(Reply) <= protocol::max_message);
    return Handler{sizeof(Request),
                   sizeof(Reply),
                   computes,
                   [](Work &work, const void *request, void *reply) {
                       function(work, *static_cast<const Request *>(request), *static_cast<Reply *>(reply));
                   },
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr};
}

// Returns how many bits the keys of the runs have that a request is about, or the number that stands for
// their kind.
template <typename Request>
std::uint32_t bits_of(const Request &request) {
    if constexpr (requires { request.key_bits; }) {
        return request.key_bits;
    } else if constexpr (requires { request.boxes; } || std::is_same_v<Request, protocol::MatchGrid>) {
        return grid_bits;
    } else if constexpr (
        requires { request.tests; } || requires { request.members; } || requires { request.member; }) {
        return column_bits;
    } else {
        return text_bits;
    }
}

template <auto spread>
constexpr void (*spreading())(Spread &parts, const void *request, void *reply) {
    using Function = decltype(spread);
    return [](Spread &parts, const void *request, void *reply) {
        spread(parts, *static_cast<const typename Parts<Function>::RequestType *>(request),
               *static_cast<typename Parts<Function>::ReplyType *>(reply));
    };
}

// Returns a row for requests that ask runs; `spread` answers where these are on several engines.
template <auto function, auto spread>
constexpr Handler request_handler() {
    using Request = typename Parts<decltype(function)>::RequestType;
    Handler submission = handler<function>(true);
    submission.find_runs = [](Work &work, const void *request, protocol::ReplyHeader &reply) {
        const auto &requested = *static_cast<const Request *>(request);
        return RunSet(work, requested.run, requested.runs, bits_of(requested), reply);
    };
    submission.spread = spreading<spread>();
    return submission;
}

// Returns the same row for requests where the results of the parts lie side by side.
template <auto function>
constexpr Handler request_handler() {
    using Request = typename Parts<decltype(function)>::RequestType;
    using Reply = typename Parts<decltype(function)>::ReplyType;
    return request_handler<function, spread_results<function, Request, Reply>>();
}

// Returns a row for requests that begin a load.
template <auto function>
constexpr Handler load() {
    using Request = typename Parts<decltype(function)>::RequestType;
    Handler loading = handler<function>(true);
    loading.load_size = [](Engine &engine, const void *request) {
        const auto &begun = *static_cast<const Request *>(request);
        return LoadSize{begun.name, {load_bytes(engine, begun)}};
    };
    return loading;
}

// The same where runs can be divided; `spread` begins a load in parts.
template <auto function, auto spread>
constexpr Handler divisible_load() {
    using Request = typename Parts<decltype(function)>::RequestType;
    Handler loading = load<function>();
    loading.load_size = [](Engine &engine, const void *request) {
        const auto &begun = *static_cast<const Request *>(request);
        return LoadSize{begun.name, {load_bytes(engine, begun), divisible(engine, begun)}};
    };
    loading.spread = spreading<spread>();
    return loading;
}

// Returns a row for requests about something that an engine has: `holders(work, request)` says which one, or
// which have parts of it, and `spread` answers for these.
template <auto function, auto holders>
constexpr Handler about() {
    using Request = typename Parts<decltype(function)>::RequestType;
    Handler known = handler<function>(true);
    known.holders = [](Work &work, const void *request) {
        return holders(work, *static_cast<const Request *>(request));
    };
    return known;
}

template <auto function, auto holders, auto spread>
constexpr Handler about() {
    Handler known = about<function, holders>();
    known.spread = spreading<spread>();
    return known;
}

template <typename Request>
std::vector<EngineId> holders_of_array(Work &work, const Request &request) {
    const auto found = work.connection.objects.find(request.handle);
    std::vector<EngineId> holders;
    // A handle may be another kind's, which the handler refuses.
    if (found == work.connection.objects.end() || found->second.engine != work.engine_name) {
        return holders;
    }
    if (found->second.in_parts == nullptr) {
        holders.push_back(found->second.held_by);
        return holders;
    }
    for (const PartInTheMaking &part : found->second.in_parts->parts) {
        holders.push_back(part.held_by);
    }
    return holders;
}

std::vector<EngineId> holders_of_mirror(Work &work, const protocol::SetDead &request) {
    return work.server().mirrors().holders_of(work.engine_name, request.name);
}

std::vector<EngineId> holders_of_kept(Work &work, const protocol::ReadQuery &) {
    const std::optional<EngineId> holder = work.connection.holder_of_kept(work.engine_name);
    return holder ? std::vector<EngineId>{*holder} : std::vector<EngineId>();
}

// A row for requests that may be computed together; `spread` answers where runs are on several engines.
template <auto function, auto spread, auto key, auto join>
constexpr Handler joint_handler() {
    using Request = typename Parts<decltype(function)>::RequestType;
    using Reply = typename Parts<decltype(function)>::ReplyType;
    Handler joint = request_handler<function, spread>();
    joint.joint_key = [](const void *request) { return key(*static_cast<const Request *>(request)); };
    joint.join = [](Work &work, const void *request, void *reply) {
        return join(work, *static_cast<const Request *>(request), *static_cast<Reply *>(reply));
    };
    return joint;
}

struct Row {
    protocol::Message type;
    Handler handler;
};

constexpr bool computes = true;
constexpr bool at_once = false;

using protocol::Message;

// All requests but hello, which the connection answers.
constexpr Row rows[] = {
    {Message::ping, handler<handle_ping>(at_once)},
    {Message::configure, handler<handle_configure>(at_once)},
    {Message::attach, handler<handle_attach>(at_once)},
    {Message::begin_kary, load<handle_begin_kary>()},
    {Message::begin_grid, load<handle_begin_grid>()},
    {Message::begin_column, divisible_load<handle_begin_column, spread_begin_column>()},
    {Message::begin_text, load<handle_begin_text>()},
    {Message::append_pages,
     about<handle_append_pages, holders_of_array<protocol::AppendPages>, spread_append_pages>()},
    {Message::finish, about<handle_finish, holders_of_array<protocol::HandleRequest>, spread_finish>()},
    {Message::set_dead, about<handle_set_dead, holders_of_mirror, spread_set_dead>()},
    {Message::drop, handler<handle_drop>(at_once)},
    {Message::evict, handler<handle_evict>(at_once)},
    {Message::keep_runs, handler<handle_keep_runs>(at_once)},
    {Message::lookup_kary, request_handler<handle_lookup_kary>()},
    {Message::count_kary, request_handler<handle_count_kary>()},
    {Message::range_kary, request_handler<handle_range_kary>()},
    {Message::search_grid, request_handler<handle_search_grid>()},
    {Message::count_grid, request_handler<handle_count_grid>()},
    {Message::match_grid, request_handler<handle_match_grid>()},
    {Message::count_column, request_handler<handle_count_column>()},
    {Message::count_column_values, request_handler<handle_count_column>()},
    {Message::match_column, request_handler<handle_match_column>()},
    {Message::run_query, request_handler<result_run_query, spread_run_query>()},
    {Message::read_query, about<result_read_query, holders_of_kept>()},
    {Message::number_strings, request_handler<handle_number_strings, spread_number_strings>()},
    {Message::read_strings, request_handler<handle_read_strings, spread_read_strings>()},
    {Message::match_strings, request_handler<handle_match_strings, spread_match_strings>()},
    {Message::search_text,
     joint_handler<handle_search_text, spread_search_text, joint_key, join_search_text>()},
    {Message::count_text, request_handler<handle_count_text>()},
    {Message::intersect_text, request_handler<handle_intersect_text>()},
    {Message::merge_column_dictionaries, handler<handle_merge_column_dictionaries>(computes)},
    {Message::mirrors, handler<handle_mirrors>(at_once)},
    {Message::statistics, handler<handle_statistics>(at_once)},
    {Message::devices, handler<handle_devices>(at_once)},
    {Message::state, handler<handle_state>(at_once)},
    {Message::inject, handler<handle_inject>(at_once)},
};

}  // namespace

const Handler *find_handler(std::uint16_t type) noexcept {
    for (const Row &row : rows) {
        if (static_cast<std::uint16_t>(row.type) == type) {
            return &row.handler;
        }
    }
    return nullptr;
}

}  // namespace gpu_engine::server
