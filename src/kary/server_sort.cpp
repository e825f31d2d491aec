#include "kary/server_sort.h"

#include "kary/mirror.h"
#include "request_kinds.h"

namespace pg_gpu::kary {

// Entries handed over or fetched at a time.
static constexpr uint32 kPiece = 1U << 16;

// Fewer are sorted and merged here without asking what a request would cost.
static constexpr uint64 kFewestEntries = 1000000;

// The array that merge_on_server merged last, until the output is listed. An error on the way ends the
// connection, and the array with it.
static ServerArray merged_array;

static client::Choice choice_for(client::RequestKind kind, Oid index, int key_bits, int runs,
                                 uint64 entries) {
    client::Request request = {};
    request.index = index;
    request.kind = kind;
    request.key_bits = key_bits;
    request.runs = runs;
    request.items = entries;
    request.entries = entries;
    return client::choose_path(request);
}

template <typename Key>
static bool send_entries(ServerArray *array, const SortEntry<Key> *entries, size_t count) {
    auto *keys = allocate<ServerKey<Key>>(kPiece);
    auto *tids = allocate<ItemPointerData>(kPiece);
    bool sent = true;
    for (size_t done = 0; sent && done < count;) {
        const auto piece = static_cast<uint32>(Min(count - done, size_t{kPiece}));
        for (uint32 i = 0; i < piece; i++) {
            const SortEntry<Key> &entry = entries[done + i];
            keys[i] = to_server(entry.key);
            ItemPointerSet(&tids[i], entry.block, entry.offset);
        }
        sent = append_to_sort(array, keys, tids, piece);
        done += piece;
    }
    pfree(keys);
    pfree(tids);
    return sent;
}

// Calls take(key, tid) for the array's entries until it ends or the server fails; returns how many there
// were.
template <typename Key, typename Take>
static uint64 fetch_entries(const ServerArray &array, Take take) {
    uint64 done = 0;
    while (done < array.entries) {
        const void *keys;
        const ItemPointerData *tids;
        uint64 count;
        if (!read_kary(array, done, kPiece, &keys, &tids, &count) || count == 0)
            break;
        for (uint64 i = 0; i < count; i++)
            take(from_server<Key>(keys, i), tids[i]);
        done += count;
    }
    return done;
}

template <typename Key>
bool sort_on_server(SortEntry<Key> *entries, size_t count) {
    if (!may_use_server(count, kFewestEntries))
        return false;
    const int key_bits = mirror_format<Key>()->key_bits;
    const client::Choice choice = choice_for(client::RequestKind::SortKary, InvalidOid, key_bits, 1, count);
    ServerArray array = {};
    if (choice.path == client::Path::Paged || !begin_sort(choice, key_bits, count, &array))
        return false;
    bool sorted = send_entries(&array, entries, count) && finish_sort(&array);
    if (sorted) {
        auto *result = allocate<SortEntry<Key>>(count);
        SortEntry<Key> *next = result;
        sorted = fetch_entries<Key>(array, [&next](const Key &key, const ItemPointerData &tid) {
                     *next++ = {key, ItemPointerGetBlockNumberNoCheck(&tid),
                                ItemPointerGetOffsetNumberNoCheck(&tid), 0};
                 }) == count;
        if (sorted)
            memcpy(entries, result, count * sizeof(SortEntry<Key>));
        pfree(result);
    }
    drop_kary(&array);
    return sorted;
}

template <typename Key>
bool merge_on_server(Relation index, const storage::RunKind *kind, const storage::RunEntry *runs, int count,
                     RunBuilder<Key> *builder, LastAdded<Key> *last) {
    *last = {};
    if (count > client::kMaxRuns)
        return false;
    uint64 entries = 0;
    bool has_small = false;
    for (int i = 0; i < count; i++) {
        entries += keyed_entries(runs[i]);
        has_small = has_small || (keyed_entries(runs[i]) > 0 &&
                                  !client::is_worth_mirroring(*mirror_format<Key>(), runs[i]));
    }
    if (entries == 0 || !may_use_server(entries, kFewestEntries))
        return false;
    // The server process merges mirrors alone.
    if (has_small) {
        client::note_unsuited(client::RequestKind::MergeKary, RelationGetRelid(index),
                              "some runs have fewer entries than pg_gpu.min_mirror_entries");
        return false;
    }
    const int key_bits = mirror_format<Key>()->key_bits;
    const client::Choice choice =
        choice_for(client::RequestKind::MergeKary, RelationGetRelid(index), key_bits, count, entries);
    if (choice.path == client::Path::Paged)
        return false;
    // No VACUUM changes the inputs' dead bits meanwhile, because it would need the lock that this merge
    // holds.
    const client::RunSet set = {index, kind,  mirror_format<Key>(),
                                runs,  count, storage::read_vacuum_seq(index, kind)};
    merged_array = {};
    if (!merge_kary(set, choice, &merged_array))
        return false;
    const uint64 added =
        fetch_entries<Key>(merged_array, [builder, last](const Key &key, const ItemPointerData &tid) {
            add_entry(builder, key, NullMask{0}, tid);
            *last = {true, key, tid};
        });
    if (added == merged_array.entries)
        return true;
    drop_kary(&merged_array);
    return false;
}

void settle_merge_on_server(Relation index, const storage::RunEntry *inputs, int count,
                            const storage::RunEntry &output) {
    if (merged_array.handle != 0)
        name_kary(&merged_array, index, output);
    merged_array = {};
    for (int i = 0; i < count; i++)
        if (inputs[i].entries >= kFewestEntries)
            client::forget_run(index, inputs[i]);
}

#define INSTANTIATE(Key)                                                                              \
    template bool sort_on_server(SortEntry<Key> *, size_t);                                           \
    template bool merge_on_server(Relation, const storage::RunKind *, const storage::RunEntry *, int, \
                                  RunBuilder<Key> *, LastAdded<Key> *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
