// Writing a gpu_kary run page by page.
#include "kary/kary.h"

namespace pg_gpu::kary {

template <typename Key>
void begin_run_builder(RunBuilder<Key> *builder, const KeyFormat &format, storage::RunWriter *writer,
                       storage::RunEntry *entry) {
    builder->writer = writer;
    builder->entry = entry;
    builder->composite = is_composite(format);
    builder->all_null = format.all_null;
    builder->flushed = 0;
    builder->on_leaf = 0;
    builder->partition_start = 0;
    builder->partition_room = 4;
    builder->partitions = allocate<Partition>(builder->partition_room);
    builder->partitions[0] = {0, false, 0, 0, 0};
    builder->partition_count = 1;
    builder->separator_count = 0;
    builder->separator_room = 64;
    builder->separators = allocate<Key>(builder->separator_room);
}

// Ends the last partition's share of the leaf: its last key becomes a separator.
template <typename Key>
static void end_share(RunBuilder<Key> *builder) {
    Partition *partition = &builder->partitions[builder->partition_count - 1];
    const uint32 count = builder->on_leaf - builder->partition_start;
    partition->entries += count;
    builder->partition_start = builder->on_leaf;
    if (count == 0 || partition->all_null)
        return;
    if (builder->separator_count == builder->separator_room) {
        builder->separator_room *= 2;
        builder->separators = reallocate(builder->separators, builder->separator_room);
    }
    builder->separators[builder->separator_count++] = builder->leaf_key_buffer[builder->on_leaf - 1];
}

template <typename Key>
void begin_partition(RunBuilder<Key> *builder, NullMask nulls) {
    end_share(builder);
    if (builder->partition_count == builder->partition_room) {
        builder->partition_room *= 2;
        builder->partitions = reallocate(builder->partitions, builder->partition_room);
    }
    builder->partitions[builder->partition_count++] = {nulls, nulls == builder->all_null, 0,
                                                       builder->flushed + builder->on_leaf, 0};
}

template <typename Key>
void flush_leaf(RunBuilder<Key> *builder) {
    const uint32 count = builder->on_leaf;
    if (count == 0)
        return;
    end_share(builder);
    Page page = storage::next_run_page(builder->writer);
    char *content = storage::page_content(page);
    memcpy(content, builder->leaf_key_buffer, count * sizeof(Key));
    memcpy(content + count * sizeof(Key), builder->leaf_tid_buffer, count * sizeof(ItemPointerData));
    storage::set_content_length(page, count * kEntryBytes<Key>);
    builder->flushed += count;
    builder->on_leaf = 0;
    builder->partition_start = 0;
}

// Writes a partition's separator pages. Each level's array is folded in place into the next: the last key of
// every page.
template <typename Key>
static void write_separators(RunBuilder<Key> *builder, const SeparatorLevels &levels, Key *keys) {
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
}

template <typename Key>
static void write_partition_table(RunBuilder<Key> *builder) {
    storage::RunEntry *entry = builder->entry;
    const uint32 listed = builder->partition_count - 1;
    entry->access_method_data[1] = listed;
    entry->sections[kPartitionSection] = {storage::pages_begun(builder->writer),
                                          partition_table_pages(listed)};
    for (uint32 done = 0; done < listed;) {
        const uint32 here = Min(kPartitionsPerPage, listed - done);
        Page page = storage::next_run_page(builder->writer);
        auto *words = reinterpret_cast<uint64 *>(storage::page_content(page));
        for (uint32 i = 0; i < here; i++) {
            const Partition &partition = builder->partitions[1 + done + i];
            words[i] = uint64{partition.nulls} << kPartitionMaskShift | partition.entries;
        }
        storage::set_content_length(page, here * sizeof(uint64));
        done += here;
    }
}

template <typename Key>
void finish_run_builder(RunBuilder<Key> *builder) {
    flush_leaf(builder);
    storage::RunEntry *entry = builder->entry;
    entry->entries = builder->flushed;
    entry->access_method_data[0] = builder->partitions[0].entries;
    entry->sections[kLeafSection] = {0, leaf_pages<Key>(*entry)};

    const uint32 first_page = storage::pages_begun(builder->writer);
    Key *keys = builder->separators;
    for (uint32 i = 0; i < builder->partition_count; i++) {
        const Partition &partition = builder->partitions[i];
        if (partition.all_null)
            continue;
        write_separators(builder, separator_levels<Key>(partition), keys);
        keys += leaf_end<Key>(partition) - leaf_begin<Key>(partition);
    }
    entry->sections[kSeparatorSection] = {first_page, storage::pages_begun(builder->writer) - first_page};
    if (builder->composite && builder->partition_count > 1)
        write_partition_table(builder);
    pfree(builder->separators);
    pfree(builder->partitions);
}

#define INSTANTIATE(Key)                                                                        \
    template void begin_run_builder(RunBuilder<Key> *, const KeyFormat &, storage::RunWriter *, \
                                    storage::RunEntry *);                                       \
    template void begin_partition(RunBuilder<Key> *, NullMask);                                 \
    template void flush_leaf(RunBuilder<Key> *);                                                \
    template void finish_run_builder(RunBuilder<Key> *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)

}  // namespace pg_gpu::kary
