// Counting boxes with the server's help.
#include "grid/mirror.h"
#include "table/server_count.h"

namespace pg_gpu::grid {

// Adds what the tail holds for each box.
static void count_tail_rows(RowChecker *checker, const ViewReader &reader, const BoxList &boxes,
                            int64 *counts) {
    const auto words = static_cast<size_t>(reader.format->row_words);
    auto *tids = allocate<ItemPointerData>(reader.tail_count + 1);
    auto *visible = allocate<bool>(reader.tail_count + 1);
    for (uint32 i = 0; i < reader.tail_count; i++)
        tids[i] = place_tid(reader.tail[i * words]);
    check_rows(checker, storage::kTailBlock, tids, reader.tail_count, visible);
    for (uint32 i = 0; i < reader.tail_count; i++) {
        CHECK_FOR_INTERRUPTS();
        for (uint32 box = 0; visible[i] && box < boxes.count; box++)
            counts[box] += is_in_box(boxes, box, reader.tail + i * words) ? 1 : 0;
    }
    pfree(visible);
    pfree(tids);
}

// Adds what the runs hold; false when the server doesn't answer.
static bool count_run_entries(RowChecker *checker, const client::RunSet &set, const client::Choice &choice,
                              const client::Boxes &boxes, int64 *counts) {
    const client::VisibleBlocks visible = read_visible_blocks(&checker->rows, table::Scope::SomeRows);
    auto *answer = allocate<client::CountAnswer>(1);
    bool answered = true;
    for (uint64 done = 0; answered && done < boxes.count;) {
        CHECK_FOR_INTERRUPTS();
        answered = client::count_boxes(set, choice, boxes, done, visible, answer) && answer->items > 0;
        if (answered) {
            add_server_counts(checker, set, *answer, counts + done);
            done += answer->items;
        }
    }
    pfree(answer);
    return answered;
}

bool count_on_server(ViewReader *reader, const BoxList &boxes, uint64 looked_at, int64 *counts,
                     uint64 *heap_fetches) {
    const client::MirrorFormat *format = mirror_format(reader->index);
    RowChecker checker;
    begin_row_checker(&checker, reader->heap, reader->index, reader->snapshot);
    bool answered = true;
    bool sound = false;
    for (int tries = 0; answered && !sound && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        memset(counts, 0, boxes.count * sizeof(int64));
        checker.rows.fetches = 0;
        renew_view(reader);
        const bool *at_home;
        const client::Choice choice =
            choose_path(*reader, format, client::RequestKind::CountBoxes, boxes.count, looked_at, &at_home);
        answered = choice.path != client::Path::Paged;
        if (!answered || !read_at_home(reader, at_home))
            continue;
        if (!count_run_entries(&checker, run_set(*reader, format), choice, boxes_of(boxes), counts)) {
            answered = client::may_share_out_again();
            continue;
        }
        count_tail_rows(&checker, *reader, boxes, counts);
        sound = storage::read_vacuum_seq(reader->index, reader->format) == reader->view.vacuum_seq;
    }
    *heap_fetches = checker.rows.fetches;
    end_row_checker(&checker);
    if (answered && sound)
        pgstat_count_index_scan(reader->index);
    return answered && sound;
}

}  // namespace pg_gpu::grid
