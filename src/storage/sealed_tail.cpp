#include "storage/sealed_tail.h"

namespace pg_gpu::storage {

void copy_tail(const char *tail_tuples, uint32 bytes, void *context) {
    auto *copy = static_cast<Items *>(context);
    memcpy(copy->tail_tuples, tail_tuples, bytes);
    copy->bytes = bytes;
}

// Returns the bytes of tuples on the page of a sealed tail: its dead bitmap follows them.
static uint32 item_bytes(const RunKind *kind, const RunEntry &run, Page page) {
    const uint32 length = content_length(page);
    const uint32 bitmap = dead_bitmap_bytes(run.entries);
    return length < bitmap ? 0 : Min(length - bitmap, kind->tail_capacity);
}

// Returns the size of the tuple at byte `at` of `limit`; 0 when it can't be one.
static uint32 sealed_tail_tuple_size(const char *tail_tuples, uint32 at, uint32 limit, uint32 least) {
    if (limit - at < least)
        return 0;
    const uint32 size = tail_tuple_size(reinterpret_cast<const TailTuple *>(tail_tuples + at));
    return size < least || size > limit - at ? 0 : size;
}

bool read_sealed_tuples(Relation index, const RunKind *kind, const RunEntry &run, uint32 least,
                        Items *tail_tuples) {
    const RunPage page = read_run_page(index, run, 0, nullptr);
    if (page.page == nullptr)
        return false;
    *tail_tuples = {allocate<char>(kContentBytes), 0, allocate<uint64>((run.entries + 63) / 64)};
    const uint32 limit = item_bytes(kind, run, page.page);
    memcpy(tail_tuples->tail_tuples, page_content(page.page), kContentBytes);
    release_run_page(page);
    // The bitmap begins at a multiple of 8, tuples end at one of 4.
    uint64 count = 0;
    for (; count < run.entries; count++) {
        const uint32 size =
            sealed_tail_tuple_size(tail_tuples->tail_tuples, tail_tuples->bytes, limit, least);
        if (size == 0)
            break;
        tail_tuples->bytes += size;
    }
    if (count != run.entries)
        report_corruption(index, run_block(run, 0), "A sealed tail does not hold its entries.");
    return read_dead_bits(index, run, 0, static_cast<uint32>(run.entries), tail_tuples->dead);
}

uint32 read_sealed_tids(Relation index, const RunKind *kind, const RunEntry &run, Page page, uint32 least,
                        ItemPointerData *tids) {
    const uint32 limit = item_bytes(kind, run, page);
    const char *tail_tuples = page_content(page);
    uint32 count = 0;
    for (uint32 at = 0; at < limit && count < run.entries; count++) {
        const uint32 size = sealed_tail_tuple_size(tail_tuples, at, limit, least);
        if (size == 0)
            report_corruption(index, run_block(run, 0), "A tuple of a sealed tail has a wrong size.");
        tids[count] = reinterpret_cast<const TailTuple *>(tail_tuples + at)->tid;
        at += size;
    }
    return count;
}

}  // namespace pg_gpu::storage
