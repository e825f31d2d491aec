// Making room: longer files, reservations for runs that are being written, and a shorter file when its end is
// free (rules "Merge" and "Truncation").
#include "storage/free_space.h"

#include "compat.h"
#include "test_hooks.h"

namespace pg_gpu::storage {

// The file grows by so many blocks at once, so that others who need its lock get it in between.
static constexpr BlockNumber kPortion = 128;

void extend_file(Relation index, BlockNumber blocks) {
    const bool needs_lock = !RELATION_IS_LOCAL(index);
    if (blocks > RelationGetNumberOfBlocks(index) + 1 + kMaxInAdvance)
        hold(HoldPoint::Extension);
    while (blocks > RelationGetNumberOfBlocks(index)) {
        CHECK_FOR_INTERRUPTS();
        if (needs_lock)
            LockRelationForExtension(index, ExclusiveLock);
        const BlockNumber now = RelationGetNumberOfBlocks(index);
        if (blocks > now)
            extend_with_zeros(RelationGetSmgr(index), now, static_cast<int>(Min(blocks - now, kPortion)));
        if (needs_lock)
            UnlockRelationForExtension(index, ExclusiveLock);
    }
}

Buffer acquire_page(Relation index, BlockNumber block) {
    extend_file(index, block + 1);
    return ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, nullptr);
}

int place_pages(Relation index, Extent *used, int used_count, uint32 pages, int max_pieces, Extent *chosen) {
    const int count = choose_extents(used, used_count, kFirstFreeBlock, pages, max_pieces, chosen);
    if (count == 0)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("index \"%s\" cannot grow beyond %u blocks", RelationGetRelationName(index),
                               kMaxBlocks),
                        errhint("Partition the table.")));
    return count;
}

// ---- reservations -----------------------------------------------------------------------------------------

// A run that outgrows what is reserved gets so many pages more, or a quarter of what it has, and of the pages
// behind its last one fewer, because it can get more of them as often as it likes.
static constexpr uint32 kLeastGrowth = 16;
static constexpr uint32 kLeastGrowthBehind = 8;

static uint32 pages_of(const RunEntry &entry) {
    uint32 pages = 0;
    for (int i = 0; i < entry.extent_count; i++)
        pages += entry.extents[i].count;
    return pages;
}

// Chooses extents under the metapage's lock and writes them down; the file is made long enough before that,
// without the lock. So no reservation reaches beyond the end of the file, and nobody who needs a page has to
// fill what others have reserved.
template <typename Choose>
static void reserve_extents(Relation index, const RunKind *kind, ReservationOwner owner, RunEntry *entry,
                            Choose choose) {
    for (;;) {
        Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
        int used_count;
        Extent *used = used_extents(index, BufferGetPage(buffer), &used_count);
        RunEntry chosen = *entry;
        choose(used, used_count, &chosen);
        pfree(used);
        const BlockNumber end = end_of_extents(chosen.extents, chosen.extent_count);
        if (end <= RelationGetNumberOfBlocks(index)) {
            GenericXLogState *state = GenericXLogStart(index);
            Extent *reservation =
                meta_page(GenericXLogRegisterBuffer(state, buffer, 0))->reservations[static_cast<int>(owner)];
            memset(reservation, 0, sizeof(Extent) * kExtentsPerRun);
            memcpy(reservation, chosen.extents, sizeof(Extent) * chosen.extent_count);
            GenericXLogFinish(state);
            UnlockReleaseBuffer(buffer);
            *entry = chosen;
            return;
        }
        check_runs_in_file(index, BufferGetPage(buffer));
        UnlockReleaseBuffer(buffer);
        extend_file(index, end);
    }
}

void reserve_pages(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry) {
    // A reservation that grows needs a piece of its own.
    const int pieces = reservation.pages < reservation.most ? kExtentsPerRun - 1 : kExtentsPerRun;
    reserve_extents(index, kind, reservation.owner, entry,
                    [&](Extent *used, int used_count, RunEntry *chosen) {
                        chosen->extent_count = static_cast<uint16>(
                            place_pages(index, used, used_count, reservation.pages, pieces, chosen->extents));
                    });
}

void reserve_more_pages(Relation index, const RunKind *kind, const Reservation &reservation,
                        RunEntry *entry) {
    const uint32 pages = pages_of(*entry);
    if (pages >= reservation.most)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("a run of index \"%s\" outgrew its %u reserved pages",
                               RelationGetRelationName(index), pages)));
    const uint32 left = reservation.most - pages;
    const uint32 wanted = Min(left, Max(kLeastGrowth, pages / 4));
    const uint32 behind = Min(left, Max(kLeastGrowthBehind, pages / 16));
    reserve_extents(index, kind, reservation.owner, entry,
                    [&](Extent *used, int used_count, RunEntry *chosen) {
                        Extent *last = &chosen->extents[chosen->extent_count - 1];
                        const uint32 room = room_behind(used, used_count, *last, behind);
                        const bool is_last = chosen->extent_count == kExtentsPerRun;
                        if (room > 0 || is_last) {
                            // The last piece was given all that the run can need.
                            Assert(room > 0);
                            last->count += room;
                            return;
                        }
                        const bool takes_all = chosen->extent_count == kExtentsPerRun - 1;
                        place_pages(index, used, used_count, takes_all ? left : wanted, 1, last + 1);
                        chosen->extent_count++;
                    });
}

void forget_reservations(Relation index, const RunKind *kind, bool old_too) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    const MetaPage *meta = meta_page(BufferGetPage(buffer));
    const bool left_over =
        meta->reservations[static_cast<int>(ReservationOwner::RecentRuns)][0].count > 0 ||
        (old_too && meta->reservations[static_cast<int>(ReservationOwner::OldRuns)][0].count > 0);
    if (left_over) {
        GenericXLogState *state = GenericXLogStart(index);
        MetaPage *image = meta_page(GenericXLogRegisterBuffer(state, buffer, 0));
        memset(image->reservations[static_cast<int>(ReservationOwner::RecentRuns)], 0,
               sizeof(image->reservations[0]));
        if (old_too)
            memset(image->reservations[static_cast<int>(ReservationOwner::OldRuns)], 0,
                   sizeof(image->reservations[0]));
        GenericXLogFinish(state);
    }
    UnlockReleaseBuffer(buffer);
}

// ---- a shorter file ---------------------------------------------------------------------------------------

// A free end is cut off when it has so many blocks, or this part of the file, but never what the next few
// inserts would ask for again.
static constexpr BlockNumber kWorthTruncating = 1000;
static constexpr BlockNumber kPartWorthTruncating = 16;

static BlockNumber used_end(Relation index, const RunKind *kind) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    int count;
    Extent *used = used_extents(index, BufferGetPage(buffer), &count);
    UnlockReleaseBuffer(buffer);
    const BlockNumber end = end_of_extents(used, count);
    pfree(used);
    return end;
}

static bool is_worth_truncating(Relation index, BlockNumber end) {
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    const BlockNumber free = blocks > end ? blocks - end : 0;
    return free > kMaxInAdvance && free >= Min(kWorthTruncating, blocks / kPartWorthTruncating);
}

// Whoever reads or writes the index holds a lock on it until he has done with his view, so under this one
// there is none; on a standby replay waits for it, or cancels those who read. Nobody is made to wait for it
// here.
static bool lock_against_readers(Relation index) {
    constexpr long kPauseMs = 20;
    for (long waited = 0; waited < kTruncationTakesMs; waited += kPauseMs) {
        if (ConditionalLockRelation(index, AccessExclusiveLock))
            return true;
        CHECK_FOR_INTERRUPTS();
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPauseMs, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
    }
    return false;
}

static bool may_truncate(Relation index) {
    Relation table = table_open(index->rd_index->indrelid, NoLock);
    const bool may = lets_vacuum_truncate(table);
    table_close(table, NoLock);
    return may;
}

bool has_free_end(Relation index, const RunKind *kind) {
    return is_worth_truncating(index, used_end(index, kind)) && may_truncate(index);
}

bool truncate_free_end(Relation index, const RunKind *kind) {
    if (!has_free_end(index, kind))
        return true;
    if (!lock_against_readers(index))
        return false;
    // Reservations that are still there were left over: nobody else can be using them.
    forget_reservations(index, kind, true);
    const BlockNumber end = used_end(index, kind);
    if (is_worth_truncating(index, end))
        RelationTruncate(index, end);
    UnlockRelation(index, AccessExclusiveLock);
    return true;
}

}  // namespace pg_gpu::storage
