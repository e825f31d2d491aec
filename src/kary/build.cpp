// CREATE INDEX. Four phases, the same for serial and parallel builds:
//   1. scan the table (all participants), collecting (key, TID) entries up to the participant's memory;
//   2. radix-sort what was collected; when memory is short this happens once a chunk, and the chunk goes to a
//      temporary file. The leader keeps its last chunk in memory, workers hand theirs over as files;
//   3. merge the chunks and write leaves, separators and the dead bitmap past the buffer manager;
//   4. write metapage and tail.
#include "kary/kary.h"
#include "keys/keys.h"
#include "progress.h"
#include "table/table.h"
#include "temporary_file.h"

#include <algorithm>

namespace pg_gpu::kary {

template <typename Key>
struct EntryArray {
    SortEntry<Key> *entries;
    size_t count;
    size_t room;
};

// Entries a participant has collected and the sorted chunks it has spilled.
template <typename Key>
struct Collector {
    Relation index;
    KeyFormat format;
    MemoryContext scratch;  // for encoding one row
    EntryArray<Key> keyed;
    EntryArray<Key> nulls;
    size_t most;  // entries of both arrays together
    uint64 total;
    SharedFileSet *files;  // nullptr in a serial build
    int participant;
    BufFile **chunks;  // serial: open files; parallel: found by name
    int chunk_count;
};

struct ChunkHead {
    uint64 keyed;
    uint64 nulls;
};

static constexpr int kChunkNameLength = 48;

template <typename Key>
static void begin_collecting(Collector<Key> *collector, Relation index, size_t memory, SharedFileSet *files,
                             int participant) {
    *collector = {};
    collector->index = index;
    collector->format = key_format(index);
    collector->scratch =
        AllocSetContextCreate(CurrentMemoryContext, "pg_gpu build row", ALLOCSET_DEFAULT_SIZES);
    // The entries take half of the memory, and the radix sort's other array takes the other half.
    collector->most = Max(memory / (2 * sizeof(SortEntry<Key>)), size_t{1024});
    collector->files = files;
    collector->participant = participant;
    for (EntryArray<Key> *part : {&collector->keyed, &collector->nulls}) {
        part->room = Min(collector->most, size_t{4096});
        part->entries = allocate<SortEntry<Key>>(part->room);
    }
}

// Sorts by mask, key and TID. With several columns, entries with NULLs are sorted by their masks first.
template <typename Key>
static void sort_part(EntryArray<Key> *part, bool by_mask) {
    if (part->count < 2)
        return;
    const auto check_for_interrupts = [] { CHECK_FOR_INTERRUPTS(); };
    auto *scratch = allocate<SortEntry<Key>>(part->count);
    SortEntry<Key> *sorted = radix_sort(part->entries, scratch, part->count, check_for_interrupts);
    if (by_mask)
        sorted = radix_sort_by<uint32>(
            sorted, sorted == scratch ? part->entries : scratch, part->count,
            [](const SortEntry<Key> &entry) { return uint32{entry.nulls}; }, check_for_interrupts);
    order_tids_within_keys(sorted, part->count);
    if (sorted == scratch) {
        std::swap(part->entries, scratch);
        part->room = part->count;
    }
    pfree(scratch);
}

template <typename Key>
static void sort_collected(Collector<Key> *collector) {
    sort_part(&collector->keyed, false);
    sort_part(&collector->nulls, is_composite(collector->format));
}

static void chunk_file_name(char *name, int participant, int chunk) {
    snprintf(name, kChunkNameLength, "chunk_%d_%d", participant, chunk);
}

template <typename Key>
static void spill(Collector<Key> *collector) {
    sort_collected(collector);
    BufFile *file;
    if (collector->files != nullptr) {
        char name[kChunkNameLength];
        chunk_file_name(name, collector->participant, collector->chunk_count);
        file = BufFileCreateFileSet(&collector->files->fs, name);
    } else {
        file = BufFileCreateTemp(false);
    }
    ChunkHead head = {collector->keyed.count, collector->nulls.count};
    BufFileWrite(file, &head, sizeof(head));
    BufFileWrite(file, collector->keyed.entries, collector->keyed.count * sizeof(SortEntry<Key>));
    BufFileWrite(file, collector->nulls.entries, collector->nulls.count * sizeof(SortEntry<Key>));
    if (collector->files != nullptr) {
        BufFileExportFileSet(file);
        BufFileClose(file);
    } else {
        if (collector->chunk_count % 16 == 0)
            collector->chunks = collector->chunks == nullptr
                                    ? allocate<BufFile *>(16)
                                    : reallocate(collector->chunks, collector->chunk_count + 16);
        collector->chunks[collector->chunk_count] = file;
    }
    collector->chunk_count++;
    collector->keyed.count = 0;
    collector->nulls.count = 0;
}

template <typename Key>
static void collect(Collector<Key> *collector, ItemPointer tid, const Datum *values, const bool *is_null) {
    if (collector->keyed.count + collector->nulls.count >= collector->most)
        spill(collector);
    NullMask nulls;
    const Key key = encode_scanned_row<Key>(collector->format, collector->scratch, values, is_null, &nulls);
    EntryArray<Key> *part = nulls != 0 ? &collector->nulls : &collector->keyed;
    if (part->count == part->room) {
        part->room = Min(part->room * 2, collector->most);
        part->entries = reallocate(part->entries, part->room);
    }
    part->entries[part->count++] = {key, ItemPointerGetBlockNumberNoCheck(tid),
                                    ItemPointerGetOffsetNumberNoCheck(tid), nulls};
    collector->total++;
}

template <typename Key>
static void collect_row(Relation, ItemPointer tid, Datum *values, bool *nulls, bool, void *state) {
    collect(static_cast<Collector<Key> *>(state), tid, values, nulls);
}

// ---- phase 3: merging sorted chunks -----------------------------------------------------------------------

static constexpr uint64 kSourceEntries = 4096;

// A sorted chunk, in memory or in a file, read strictly forward.
template <typename Key>
struct SortedChunk {
    SortEntry<Key> *buffer;
    uint64 in_buffer;
    uint64 at;
    uint64 unread;  // entries of the current part still in the file
    ChunkHead head;
    BufFile *file;  // nullptr: in memory
    Relation index;
    Collector<Key> *memory;
};

template <typename Key>
static bool refill(SortedChunk<Key> *source) {
    if (source->file == nullptr || source->unread == 0)
        return false;
    source->in_buffer = Min(source->unread, kSourceEntries);
    const size_t bytes = source->in_buffer * sizeof(SortEntry<Key>);
    read_file(source->file, source->buffer, bytes, source->index);
    source->unread -= source->in_buffer;
    source->at = 0;
    return true;
}

template <typename Key>
static bool begin_share(SortedChunk<Key> *source, bool nulls) {
    source->at = 0;
    if (source->file == nullptr) {
        EntryArray<Key> *part = nulls ? &source->memory->nulls : &source->memory->keyed;
        source->buffer = part->entries;
        source->in_buffer = part->count;
        return part->count > 0;
    }
    source->unread = nulls ? source->head.nulls : source->head.keyed;
    return refill(source);
}

template <typename Key>
static bool source_after(const SortedChunk<Key> *a, const SortedChunk<Key> *b) {
    return entry_less(b->buffer[b->at], a->buffer[a->at]);
}

static void count_written(uint64 *written) {
    if ((++*written & 0xfff) == 0)
        set_progress(*written);
}

template <typename Key>
static void write_entry(RunBuilder<Key> *builder, const SortEntry<Key> &entry) {
    ItemPointerData tid;
    ItemPointerSet(&tid, entry.block, entry.offset);
    add_entry(builder, entry.key, entry.nulls, tid);
}

template <typename Key>
static void merge_sources(SortedChunk<Key> **sources, int count, bool nulls, RunBuilder<Key> *builder,
                          uint64 *written) {
    auto **heap = allocate<SortedChunk<Key> *>(count + 1);
    int live = 0;
    for (int i = 0; i < count; i++)
        if (begin_share(sources[i], nulls))
            heap[live++] = sources[i];
    std::make_heap(heap, heap + live, source_after<Key>);
    while (live > 0) {
        std::pop_heap(heap, heap + live, source_after<Key>);
        SortedChunk<Key> *smallest = heap[live - 1];
        for (;;) {
            write_entry(builder, smallest->buffer[smallest->at]);
            count_written(written);
            smallest->at++;
            if (smallest->at == smallest->in_buffer && !refill(smallest)) {
                live--;
                break;
            }
            if (live > 1 && source_after(smallest, heap[0])) {
                std::push_heap(heap, heap + live, source_after<Key>);
                break;
            }
        }
    }
    pfree(heap);
}

// Opens all spilled chunks at their beginning: the serial build's open files, or those of the participants by
// name.
static BufFile **open_chunks(const ParallelBuild *build, Relation index, BufFile **own, int own_count,
                             SharedFileSet *files, int *count) {
    if (build == nullptr) {
        for (int i = 0; i < own_count; i++)
            rewind_file(own[i], index);
        *count = own_count;
        return own;
    }
    const uint64 *chunk_counts = handed_over(build);
    const int participants = parallel_participants(build);
    size_t total = static_cast<size_t>(own_count);
    for (int i = 1; i < participants; i++)
        total += chunk_counts[i];
    auto **opened = allocate<BufFile *>(total + 1);
    *count = 0;
    for (int i = 0; i < participants; i++) {
        const int chunks = i == 0 ? own_count : static_cast<int>(chunk_counts[i]);
        for (int j = 0; j < chunks; j++) {
            char name[kChunkNameLength];
            chunk_file_name(name, i, j);
            opened[(*count)++] = BufFileOpenFileSet(&files->fs, name, O_RDONLY, false);
        }
    }
    return opened;
}

template <typename Key>
static SortedChunk<Key> *file_source(BufFile *file, Relation index) {
    auto *source = allocate_zeroed<SortedChunk<Key>>(1);
    source->file = file;
    source->index = index;
    source->buffer = allocate<SortEntry<Key>>(kSourceEntries);
    read_file(file, &source->head, sizeof(source->head), index);
    return source;
}

// ---- the steps of a build ---------------------------------------------------------------------------------

template <typename Key>
static void *begin_part(const BuildPart &part) {
    auto *collector = allocate<Collector<Key>>(1);
    begin_collecting(collector, part.index, part.memory, part.files, part.participant);
    return collector;
}

template <typename Key>
static HandedOver hand_over(void *state) {
    auto *collector = static_cast<Collector<Key> *>(state);
    if (collector->keyed.count + collector->nulls.count > 0)
        spill(collector);
    return {collector->total, static_cast<uint64>(collector->chunk_count)};
}

template <typename Key>
static uint64 finish_collecting(void *collector) {
    return static_cast<Collector<Key> *>(collector)->total;
}

template <typename Key>
static void sort_rest(void *collector) {
    sort_collected(static_cast<Collector<Key> *>(collector));
}

template <typename Key>
static void write_run(void *state, const BuildTarget &target) {
    auto *collector = static_cast<Collector<Key> *>(state);
    int file_count = 0;
    BufFile **files = open_chunks(target.parallel, collector->index, collector->chunks,
                                  collector->chunk_count, collector->files, &file_count);
    auto **sources = allocate<SortedChunk<Key> *>(file_count + 1);
    int source_count = 0;
    for (int i = 0; i < file_count; i++)
        sources[source_count++] = file_source<Key>(files[i], collector->index);
    sources[source_count] = allocate_zeroed<SortedChunk<Key>>(1);
    sources[source_count++]->memory = collector;

    auto *builder = allocate<RunBuilder<Key>>(1);
    begin_run_builder(builder, collector->format, target.writer, target.entry);
    uint64 written = 0;
    merge_sources(sources, source_count, false, builder, &written);
    merge_sources(sources, source_count, true, builder, &written);
    finish_run_builder(builder);
    for (int i = 0; i < file_count; i++)
        BufFileClose(files[i]);
}

template <typename Key>
static const BuildSteps *steps_of() {
    // The sort relies on TIDs arriving in order.
    static constexpr BuildSteps steps = {
        .takes_any_order = false,
        .begin = begin_part<Key>,
        .collect = collect_row<Key>,
        .hand_over = hand_over<Key>,
        .finish = finish_collecting<Key>,
        .sort = sort_rest<Key>,
        .write = write_run<Key>,
    };
    return &steps;
}

const BuildSteps *build_steps(Relation index) {
    require_valid_columns(index);
    return with_key_type(key_format(index).width, [](auto key) { return steps_of<decltype(key)>(); });
}

}  // namespace pg_gpu::kary
