#include "table/block_picture.h"

#include "compat.h"

namespace pg_gpu::table {

using gpu_engine::BlockGroup;

// A statement has seldom more tables.
static constexpr uint32 kPictures = 8;
static BlockPicture pictures[kPictures] = {};
static uint64 last_use = 0;

static size_t picture_bytes(uint32 groups, uint32 row_words) {
    return groups * (sizeof(BlockGroup) + sizeof(SharedMark) + sizeof(FactsSuit) +
                     size_t{kGroupBlocks} * row_words * sizeof(uint64));
}

static void forget(BlockPicture *picture) {
    if (picture->groups != nullptr)
        pfree(picture->groups);
    *picture = {};
}

static bool is_of(const BlockPicture &picture, const PhysicalPlace &place) {
    return picture.group_count != 0 && picture.place.relation == place.relation &&
           picture.place.database == place.database && picture.place.tablespace == place.tablespace;
}

// Forgets the pictures that went unused for longest, until there is room for so many bytes more; returns a
// free one, or nullptr.
static BlockPicture *make_room(size_t bytes) {
    const size_t limit = get_hash_memory_limit();
    if (bytes > limit)
        return nullptr;
    for (;;) {
        size_t used = 0;
        BlockPicture *oldest = nullptr;
        BlockPicture *free = nullptr;
        for (BlockPicture &picture : pictures) {
            used += picture_bytes(picture.group_count, picture.row_words);
            if (picture.group_count == 0)
                free = &picture;
            else if (picture.user == 0 && (oldest == nullptr || picture.last_used < oldest->last_used))
                oldest = &picture;
        }
        if (free != nullptr && used + bytes <= limit)
            return free;
        if (oldest == nullptr)
            return nullptr;
        forget(oldest);
    }
}

// Nothing is known in it. A table that grows isn't begun anew each time.
static BlockPicture *make_picture(const PhysicalPlace &place, uint64 epoch, uint32 groups) {
    const uint32 with_room = groups + groups / 8 + 1;
    const uint32 row_words = facts_row_words();
    const size_t bytes = picture_bytes(with_room, row_words);
    BlockPicture *picture = make_room(bytes);
    auto *memory = picture == nullptr
                       ? nullptr
                       : static_cast<char *>(MemoryContextAllocExtended(
                             TopMemoryContext, bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO));
    if (memory == nullptr)
        return nullptr;
    picture->place = place;
    picture->epoch = epoch;
    picture->row_words = row_words;
    picture->group_count = with_room;
    picture->groups = reinterpret_cast<BlockGroup *>(memory);
    picture->rows = reinterpret_cast<uint64 *>(picture->groups + with_room);
    picture->marks =
        reinterpret_cast<SharedMark *>(picture->rows + size_t{with_room} * kGroupBlocks * row_words);
    picture->newest = reinterpret_cast<FactsSuit *>(picture->marks + with_room);
    for (uint32 i = 0; i < with_room; i++) {
        picture->groups[i].first_slot = uint64{i} * kGroupBlocks;
        picture->marks[i] = kNoMark;
    }
    return picture;
}

void leave_pictures(uint64 user) {
    for (BlockPicture &picture : pictures)
        if (picture.user == user)
            picture.user = 0;
}

static void leave_after_error(void *user) {
    leave_pictures(*static_cast<uint64 *>(user));
}

// A question that an error breaks off closes nothing, but its memory goes.
static uint64 begin_use() {
    static uint64 last_user = 0;
    auto *callback = allocate_zeroed<MemoryContextCallback>(1);
    auto *user = allocate<uint64>(1);
    *user = ++last_user;
    callback->func = leave_after_error;
    callback->arg = user;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
    return *user;
}

BlockPicture *find_picture(RowVisibility *rows, uint32 group_count) {
    const uint64 epoch = rows->uses_facts && rows->file.is_followed ? wal_epoch() : 0;
    if (epoch == 0)
        return nullptr;
    BlockPicture *found = nullptr;
    for (BlockPicture &picture : pictures) {
        if (!is_of(picture, rows->file.place))
            continue;
        if (picture.user != 0 && picture.user != rows->picture_user)
            return nullptr;
        if (picture.epoch == epoch && picture.row_words == facts_row_words() &&
            picture.group_count >= group_count &&
            picture_bytes(picture.group_count, picture.row_words) <= get_hash_memory_limit())
            found = &picture;
        else
            forget(&picture);
    }
    if (found == nullptr)
        found = make_picture(rows->file.place, epoch, group_count);
    if (found == nullptr)
        return nullptr;
    if (rows->picture_user == 0)
        rows->picture_user = begin_use();
    found->user = rows->picture_user;
    found->last_used = ++last_use;
    return found;
}

void find_changed_groups(const RowVisibility &rows, BlockPicture *picture, bool *changed) {
    const bool notes_use = picture->second != rows.file.second;
    picture->second = rows.file.second;
    find_changed(rows.file, notes_use, picture->marks, picture->group_count, changed);
    const FactsSuit suit = facts_suit(rows);
    for (uint32 i = 0; i < picture->group_count; i++)
        changed[i] |= !do_facts_suit(suit, false, picture->newest[i].xmin) ||
                      !do_facts_suit(suit, true, picture->newest[i].moment);
}

void copy_group(const RowVisibility &rows, BlockPicture *picture, uint32 number) {
    BlockGroup *group = &picture->groups[number];
    picture->marks[number] = kNoMark;
    group->known = 0;
    const CopiedFacts copied =
        copy_facts(rows, number, PG_UINT64_MAX, picture->rows + group->first_slot * picture->row_words);
    group->known = copied.blocks;
    picture->newest[number] = {copied.newest_id, copied.newest_moment};
    picture->marks[number] = copied.mark;
}

}  // namespace pg_gpu::table
