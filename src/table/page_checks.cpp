#include "table/page_checks.h"

#include <chrono>

#include "compat.h"

namespace pg_gpu::table {

namespace {

// The page that a buffer holds. Its fields have other names from 16 on, and the same order.
struct Tag {
    Oid tablespace;
    Oid database;
    uint32 relation;
    uint32 fork;
    BlockNumber block;

    bool operator==(const Tag &other) const = default;
};
static_assert(sizeof(Tag) == sizeof(BufferTag));

}  // namespace

static bool is_buffer(Buffer buffer) {
    return buffer > 0 && buffer <= NBuffers;
}

static const BufferDesc *head_of(Buffer buffer) {
    return GetBufferDescriptor(static_cast<uint32>(buffer - 1));
}

// A hint alone is passed over where the address must be translated first. Whoever changes the page does no
// harm, since nobody looks at what is read.
void prefetch_buffer(Buffer buffer) {
    if (!is_buffer(buffer))
        return;
    static_cast<void>(*reinterpret_cast<const volatile uint32 *>(head_of(buffer)));
    static_cast<void>(*reinterpret_cast<const volatile uint32 *>(BufferGetPage(buffer)));
}

void prefetch_page_check(Buffer buffer) {
    if (!is_buffer(buffer))
        return;
    __builtin_prefetch(head_of(buffer));
    __builtin_prefetch(BufferGetPage(buffer));
}

static Tag read_tag(Buffer buffer) {
    Tag tag;
    memcpy(&tag, &head_of(buffer)->tag, sizeof(tag));
    return tag;
}

// Has the buffer been filled with its page, and isn't about to be given another? A page that nobody has used
// for a while must be used, or it would go sooner than others.
static bool is_in_use(Buffer buffer) {
    const uint32 state = pg_atomic_read_u32(const_cast<pg_atomic_uint32 *>(&head_of(buffer)->state));
    return (state & (BM_VALID | BM_LOCKED)) == BM_VALID && BUF_STATE_GET_USAGECOUNT(state) > 0;
}

// Both halves at once, from a page that others may change.
static XLogRecPtr read_lsn(Buffer buffer) {
    const uint64 word =
        __atomic_load_n(reinterpret_cast<const uint64 *>(BufferGetPage(buffer)), __ATOMIC_RELAXED);
    PageXLogRecPtr lsn;
    static_assert(sizeof(lsn) == sizeof(word) && offsetof(PageHeaderData, pd_lsn) == 0);
    memcpy(&lsn, &word, sizeof(lsn));
    return PageXLogRecPtrGet(lsn);
}

namespace {

enum class CheckResult { Unchanged, Changed, Unsure };

}  // namespace

// PostgreSQL writes the tag of a buffer's next page before that page comes in.
static CheckResult check_page(const Tag &tag, const PageCheck &look) {
    if (!is_buffer(look.buffer) || !(read_tag(look.buffer) == tag))
        return CheckResult::Changed;
    pg_read_barrier();
    if (!is_in_use(look.buffer))
        return CheckResult::Unsure;
    pg_read_barrier();
    const XLogRecPtr lsn = read_lsn(look.buffer);
    pg_read_barrier();
    return lsn == look.lsn && read_tag(look.buffer) == tag ? CheckResult::Unchanged : CheckResult::Changed;
}

// Looks at a page under a pin, which keeps the buffer, and a lock, which keeps the page.
static bool is_unchanged(Relation heap, const PageCheck &look) {
    if (!is_buffer(look.buffer) ||
        !ReadRecentBuffer(physical_relation(heap), MAIN_FORKNUM, look.block, look.buffer))
        return false;
    LockBuffer(look.buffer, BUFFER_LOCK_SHARE);
    const bool unchanged = BufferGetLSNAtomic(look.buffer) == look.lsn;
    UnlockReleaseBuffer(look.buffer);
    return unchanged;
}

// Sets a bit of *unsure for each page that must be looked at again, under a lock.
static uint32 check_pages(Relation heap, const PageCheck *checks, uint32 count, uint32 *unsure) {
    // Within this time no buffer is given another page and then its own again: both would have to be read,
    // and all other buffers be passed over in between. A session that lost its processor for longer can't be
    // sure.
    constexpr std::chrono::microseconds kGlance{2};
    const PhysicalPlace place = physical_place(heap);
    uint32 unchanged = 0;
    *unsure = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (uint32 i = 0; i < count; i++) {
        const CheckResult check_result = check_page(
            {place.tablespace, place.database, place.relation, MAIN_FORKNUM, checks[i].block}, checks[i]);
        unchanged |= check_result == CheckResult::Unchanged ? 1U << i : 0;
        *unsure |= check_result == CheckResult::Unsure ? 1U << i : 0;
    }
    if (std::chrono::steady_clock::now() - begin <= kGlance)
        return unchanged;
    *unsure |= unchanged;
    return 0;
}

uint32 find_unchanged(Relation heap, const PageCheck *checks, uint32 count) {
    // The heads lie far apart in memory, and those of several pages come from there together.
    for (uint32 i = 0; i < count; i++)
        prefetch_buffer(checks[i].buffer);
    uint32 unsure;
    uint32 unchanged = check_pages(heap, checks, count, &unsure);
    pgBufferUsage.shared_blks_hit += __builtin_popcount(unchanged);
    for (uint32 left = unsure; left != 0; left &= left - 1) {
        const auto i = static_cast<uint32>(__builtin_ctz(left));
        unchanged |= is_unchanged(heap, checks[i]) ? 1U << i : 0;
    }
    for (uint32 left = unchanged; left != 0; left &= left - 1) {
        pgstat_count_buffer_read(heap);
        pgstat_count_buffer_hit(heap);
    }
    return unchanged;
}

}  // namespace pg_gpu::table
