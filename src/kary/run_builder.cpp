// Writing a gpu_kary run page by page.
#include "kary/kary.h"

namespace pg_gpu::kary {

template <typename Key>
void begin_run_builder(RunBuilder<Key> *builder, storage::RunWriter *writer, storage::RunEntry *entry) {
    builder->writer = writer;
    builder->entry = entry;
    builder->on_leaf = 0;
    builder->total = 0;
    builder->keyed = 0;
    builder->last_key = 0;
    builder->separator_count = 0;
    builder->separator_room = 64;
    builder->separators = allocate<Key>(builder->separator_room);
}

template <typename Key>
void flush_leaf(RunBuilder<Key> *builder) {
    const uint32 count = builder->on_leaf;
    if (count == 0)
        return;
    Page page = storage::next_run_page(builder->writer);
    char *content = storage::page_content(page);
    memcpy(content, builder->leaf_key_buffer, count * sizeof(Key));
    memcpy(content + count * sizeof(Key), builder->leaf_tid_buffer, count * sizeof(ItemPointerData));
    storage::set_content_length(page, count * (sizeof(Key) + sizeof(ItemPointerData)));

    if (builder->keyed > builder->total) {
        if (builder->separator_count == builder->separator_room) {
            builder->separator_room *= 2;
            builder->separators = reallocate(builder->separators, builder->separator_room);
        }
        builder->separators[builder->separator_count++] = builder->last_key;
    }
    builder->total += count;
    builder->on_leaf = 0;
}

template <typename Key>
void finish_run_builder(RunBuilder<Key> *builder) {
    flush_leaf(builder);
    storage::RunEntry *entry = builder->entry;
    entry->entries = builder->total;
    entry->access_method_data[0] = builder->keyed;
    entry->sections[kLeafSection] = {0, leaf_pages<Key>(*entry)};

    const SeparatorLevels levels = separator_levels<Key>(builder->keyed);
    entry->sections[kSeparatorSection] = {storage::pages_begun(builder->writer), levels.pages};
    // Each level's array is folded in place into the next: the last key of every page.
    Key *keys = builder->separators;
    for (int level = 0; level < levels.count; level++) {
        uint32 pages = 0;
        for (uint32 done = 0; done < levels.keys[level];) {
            const uint32 here = Min(kSeparatorCapacity<Key>, levels.keys[level] - done);
            Page page = storage::next_run_page(builder->writer);
            memcpy(storage::page_content(page), keys + done, here * sizeof(Key));
            storage::set_content_length(page, here * sizeof(Key));
            done += here;
            keys[pages++] = keys[done - 1];
        }
    }
    pfree(builder->separators);
}

template struct RunBuilder<uint32>;
template struct RunBuilder<uint64>;
template void begin_run_builder(RunBuilder<uint32> *, storage::RunWriter *, storage::RunEntry *);
template void begin_run_builder(RunBuilder<uint64> *, storage::RunWriter *, storage::RunEntry *);
template void flush_leaf(RunBuilder<uint32> *);
template void flush_leaf(RunBuilder<uint64> *);
template void finish_run_builder(RunBuilder<uint32> *);
template void finish_run_builder(RunBuilder<uint64> *);

}  // namespace pg_gpu::kary
