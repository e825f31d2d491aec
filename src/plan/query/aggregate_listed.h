// Columns whose scaled numerics are listed, because a statement has expressions over them that can be
// evaluated for each value only (column/scan/value_list.h).
#pragma once

#include "plan/query/aggregate_inputs.h"
#include "plan/query/aggregate_path.h"
#include "plan/query/aggregate_views.h"

namespace pg_gpu::plan {

// Gives the statement's columns that are to be listed codes in all parts. False: there is no room.
bool list_columns(InputBuilder *builder);

// Is it better that the session answers, which has lists, than that the server is sent a range for each of
// their values, to search by every row? nullptr: no.
const char *refuse_lists_for_server(const InputBuilder &builder);

// The server knows a listed column's integers, but not their numbers: maps by number become maps by code
// there, or ranges of a single code each. False: a map has no such form, or there is no room.
bool give_codes_to_server(InputBuilder *builder, const AllRows &rows);

// Would lists, and the maps by them, have room? For planners.
bool have_room_for_lists(const CompiledAggregate &compiled, const AggregateSource *sources, int count);
inline constexpr char kNoRoomForLists[] =
    "pg_gpu.map_memory and work_mem have no room for a column's different values";

}  // namespace pg_gpu::plan
