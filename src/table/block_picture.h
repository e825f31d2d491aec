// What questions hand to the server process of a table's blocks (gpu_engine/heap_blocks.h), kept from one to
// the next: of a large table beside writers a few groups of blocks have changed meanwhile, and to copy what
// is known of all others would take longer than the question. The rule: ../storage/README.md, "Block facts of
// all sessions".
#pragma once

#include "client/client.h"
#include "table/row_visibility.h"

namespace pg_gpu::table {

// Group n has slots 64 * n to 64 * n + 63, the first of which are used.
struct BlockPicture {
    PhysicalPlace place;
    uint64 epoch;      // of following WAL, in which all below was found out
    uint64 last_used;  // a number that grows from question to question
    uint64 user;       // the question that it is handed to at this moment; 0: none
    uint32 second;     // in which its groups were noted to be in use last
    uint32 row_words;
    uint32 group_count;
    gpu_engine::BlockGroup *groups;
    uint64 *rows;
    SharedMark *marks;
    FactsSuit *newest;  // what a group's facts rest on: the newest id and moment
};

// The table's picture, with so many groups; nullptr: WAL isn't followed, work_mem has no room for it, or
// another question has it: functions of values that a question is about may ask questions of their own. It is
// this one's, and stays as it is, until its rows are closed, or the current memory context is reset.
BlockPicture *find_picture(RowVisibility *rows, uint32 group_count);

// From close_row_visibility.
void leave_pictures(uint64 user);

// Which of its groups have changed, or don't suit the question?
void find_changed_groups(const RowVisibility &rows, BlockPicture *picture, bool *changed);

// Copies what is known of a group now.
void copy_group(const RowVisibility &rows, BlockPicture *picture, uint32 number);

}  // namespace pg_gpu::table
