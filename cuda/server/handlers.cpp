// Which function answers which kind of request.
#include <type_traits>

#include "server/request.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

template <typename Function>
struct Parts;
template <typename Request, typename Reply>
struct Parts<void (*)(Work &, const Request &, Reply &)> {
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
                   nullptr};
}

// A row for requests that may be computed together.
template <auto function, auto key, auto join>
constexpr Handler joint_handler() {
    using Request = typename Parts<decltype(function)>::RequestType;
    using Reply = typename Parts<decltype(function)>::ReplyType;
    Handler joint = handler<function>(true);
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
    {Message::ping, handler<answer_ping>(at_once)},
    {Message::configure, handler<answer_configure>(at_once)},
    {Message::attach, handler<answer_attach>(at_once)},
    {Message::begin_kary, handler<answer_begin_kary>(computes)},
    {Message::begin_grid, handler<answer_begin_grid>(computes)},
    {Message::begin_column, handler<answer_begin_column>(computes)},
    {Message::begin_text, handler<answer_begin_text>(computes)},
    {Message::append_pages, handler<answer_append_pages>(computes)},
    {Message::append_kary, handler<answer_append_kary>(computes)},
    {Message::finish, handler<answer_finish>(computes)},
    {Message::set_dead, handler<answer_set_dead>(computes)},
    {Message::drop, handler<answer_drop>(at_once)},
    {Message::evict, handler<answer_evict>(at_once)},
    {Message::keep_runs, handler<answer_keep_runs>(at_once)},
    {Message::lookup_kary, handler<answer_lookup_kary>(computes)},
    {Message::count_kary, handler<answer_count_kary>(computes)},
    {Message::range_kary, handler<answer_range_kary>(computes)},
    {Message::search_grid, handler<answer_search_grid>(computes)},
    {Message::count_grid, handler<answer_count_grid>(computes)},
    {Message::match_grid, handler<answer_match_grid>(computes)},
    {Message::count_column, handler<answer_count_column>(computes)},
    {Message::count_column_values, handler<answer_count_column>(computes)},
    {Message::match_column, handler<answer_match_column>(computes)},
    {Message::aggregate_column, handler<answer_aggregate_column>(computes)},
    {Message::read_groups, handler<answer_read_groups>(computes)},
    {Message::search_text, joint_handler<answer_search_text, joint_key, join_search_text>()},
    {Message::count_text, handler<answer_count_text>(computes)},
    {Message::intersect_text, handler<answer_intersect_text>(computes)},
    {Message::merge_column_dictionaries, handler<answer_merge_column_dictionaries>(computes)},
    {Message::merge_kary, handler<answer_merge_kary>(computes)},
    {Message::read_kary, handler<answer_read_kary>(computes)},
    {Message::name_kary, handler<answer_name_kary>(at_once)},
    {Message::mirrors, handler<answer_mirrors>(at_once)},
    {Message::statistics, handler<answer_statistics>(at_once)},
    {Message::devices, handler<answer_devices>(at_once)},
    {Message::state, handler<answer_state>(at_once)},
    {Message::inject, handler<answer_inject>(at_once)},
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
