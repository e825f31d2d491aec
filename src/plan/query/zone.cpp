#include "plan/query/zone.h"

namespace pg_gpu::plan::query {

// Jumps of all the years that a timestamp may be of.
static constexpr pg_time_t kFirstSecond = -INT64CONST(214000000000);
static constexpr int kMaxJumps = 4096;
// From then on a zone's rule repeats itself each year, without an end.
static constexpr pg_time_t kLastSecond = INT64CONST(32503680000);

bool find_session_zone(Program *program, bool is_executor) {
    if (program->has_zone)
        return true;
    program->has_zone = true;
    program->zone = {};
    auto *jumps = allocate<engine::ZoneTransition>(kMaxJumps);
    uint64 count = 0;
    pg_time_t moment = kFirstSecond;
    while (is_executor) {
        long before;
        long after;
        int before_is_dst;
        int after_is_dst;
        pg_time_t jump;
        const int found = pg_next_dst_boundary(&moment, &before, &before_is_dst, &jump, &after, &after_is_dst,
                                               session_timezone);
        if (found < 0)
            return false;
        if (count == 0)
            jumps[count++] = {PG_INT64_MIN, before * USECS_PER_SEC};
        if (found == 0 || jump > kLastSecond)
            break;
        if (count == kMaxJumps)
            return false;
        if (after != before)
            jumps[count++] = {time_t_to_timestamptz(jump), after * USECS_PER_SEC};
        moment = jump;
    }
    if (!is_executor)
        jumps[count++] = {PG_INT64_MIN, 0};
    program->zone = {jumps, count};
    return true;
}

}  // namespace pg_gpu::plan::query
