#include "kary/dead_rows.h"

#include "table/known_indexes.h"

namespace pg_gpu::kary {

static constexpr uint32 kFirstBits = 8;
// Half a megabyte for an index, at most half of its slots used. Beyond that rows are looked at again.
static constexpr uint32 kMaxBits = 16;

static void release(DeadRows *known) {
    if (known->slots != nullptr)
        pfree(known->slots);
}

static table::KnownIndexes<DeadRows, release> known_indexes;

const DeadRows *known_dead_rows(Relation index, uint64 vacuum_seq) {
    DeadRows *found = known_indexes.find(index);
    if (found == nullptr || found->vacuum_seq != vacuum_seq)
        return nullptr;
    known_indexes.use(found);
    return found;
}

static uint64 *allocate_slots(uint32 bits) {
    return static_cast<uint64 *>(MemoryContextAllocZero(TopMemoryContext, sizeof(uint64) << bits));
}

static void grow(DeadRows *known) {
    DeadRows larger = *known;
    larger.bits++;
    larger.slots = allocate_slots(larger.bits);
    for (uint64 i = 0; i < uint64{1} << known->bits; i++)
        if (known->slots[i] != 0)
            *dead_row_slot(larger, known->slots[i]) = known->slots[i];
    pfree(known->slots);
    *known = larger;
}

// Returns nullptr where later views are known already.
static DeadRows *find_or_begin(Relation index, uint64 vacuum_seq) {
    DeadRows *known = known_indexes.find(index);
    if (known != nullptr && known->vacuum_seq > vacuum_seq)
        return nullptr;
    if (known == nullptr || known->vacuum_seq < vacuum_seq) {
        uint64 *slots = allocate_slots(kFirstBits);
        known = known_indexes.begin(index, vacuum_seq);
        known->slots = slots;
        known->bits = kFirstBits;
    }
    known_indexes.use(known);
    return known;
}

bool is_known_dead(const DeadRows &known, const DeadLeaf &leaf) {
    for (uint32 i = 0; i < known.leaf_count; i++)
        if (known.leaves[i].run_id == leaf.run_id && known.leaves[i].leaf == leaf.leaf)
            return true;
    return false;
}

void note_dead_leaf(Relation index, uint64 vacuum_seq, const DeadLeaf &leaf) {
    DeadRows *known = find_or_begin(index, vacuum_seq);
    if (known == nullptr || is_known_dead(*known, leaf))
        return;
    known->leaves[known->next_leaf] = leaf;
    known->next_leaf = (known->next_leaf + 1) % DeadRows::kMaxLeaves;
    known->leaf_count = Min(known->leaf_count + 1, DeadRows::kMaxLeaves);
}

void note_dead_row(Relation index, uint64 vacuum_seq, const ItemPointerData &tid) {
    DeadRows *known = find_or_begin(index, vacuum_seq);
    if (known == nullptr)
        return;
    if (known->count >= uint32{1} << (known->bits - 1)) {
        if (known->bits == kMaxBits)
            return;
        grow(known);
    }
    uint64 *slot = dead_row_slot(*known, table::encode_tid(tid));
    known->count += *slot == 0 ? 1 : 0;
    *slot = table::encode_tid(tid);
}

}  // namespace pg_gpu::kary
