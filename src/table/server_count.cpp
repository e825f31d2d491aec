#include "table/server_count.h"

#include "table/visible_count.h"

namespace pg_gpu::table {

client::VisibleBlocks read_visible_blocks(Relation heap) {
    if (is_table_all_visible(heap))
        return {nullptr, 0, true};
    const BlockNumber blocks = RelationGetNumberOfBlocks(heap);
    VisibilityMap map;
    open_visibility(&map, heap);
    auto *bits = allocate_zeroed<uint8>(blocks / 8 + 1);
    for (BlockNumber block = 0; block < blocks; block++)
        if (is_all_visible(&map, block))
            bits[block / 8] |= static_cast<uint8>(1U << (block % 8));
    close_visibility(&map);
    return {bits, blocks, false};
}

bool is_row_visible(RowChecker *checker, BlockNumber index_block, const ItemPointerData &tid) {
    CHECK_FOR_INTERRUPTS();
    if (unlikely(!is_possible_tid(checker->heap, &checker->heap_blocks, tid)))
        storage::report_corruption(checker->index, index_block, "An entry's TID lies outside the table.");
    checker->fetches++;
    return is_visible(&checker->probe, tid);
}

void add_server_counts(RowChecker *checker, const client::RunSet &set, const client::CountAnswer &answer,
                       int64 *counts) {
    for (uint64 i = 0; i < answer.items; i++)
        counts[i] += static_cast<int64>(answer.counts[i]);
    for (int run = 0; answer.hidden && run < set.count; run++) {
        const client::RunAnswer &hidden = answer.runs[run];
        const BlockNumber block = storage::run_block(set.runs[run], 0);
        for (uint64 i = 0; i < answer.items; i++) {
            CHECK_FOR_INTERRUPTS();
            for (uint64 at = hidden.offsets[i]; at < Min(hidden.offsets[i + 1], hidden.entries); at++)
                counts[i] += is_row_visible(checker, block, hidden.tids[at]) ? 1 : 0;
        }
    }
}

}  // namespace pg_gpu::table
