// Inverted lists of a run are read block by block.
#include <algorithm>

#include "text/reader.h"

namespace pg_gpu::text {

// Copies bytes of the list, from one on. false when stale.
static bool copy_bytes(const ListCursor *list, uint64 from, uint64 length, void *to) {
    return copy_section_bytes(list->reader, list->page, list->reader->run.sections[kPostingSection],
                              list->start + from, length, to);
}

[[noreturn]] static void report_list(const ListCursor *list) {
    const RunReader *reader = list->reader;
    report_damage(reader,
                  reader->run.sections[kPostingSection].first_page +
                      static_cast<uint32>(list->start / storage::kContentBytes),
                  "An inverted list is damaged.");
}

// Ordinals and offsets ascend, so that the last are the highest. Without branches: long lists have hundreds.
static bool are_heads_valid(const ListCursor *list) {
    if (list->blocks == 0)
        return true;
    bool ascending = true;
    for (uint32 i = 1; i < list->blocks; i++) {
        const postings::BlockHead &before = list->heads[i - 1];
        const postings::BlockHead &head = list->heads[i];
        ascending = ascending & (head.last > before.last) & (head.offset >= before.offset);
    }
    const postings::BlockHead &last = list->heads[list->blocks - 1];
    return ascending && last.last < list->reader->run.entries && last.offset <= list->data_bytes;
}

ListCursor *open_list_in_memory(RunReader *reader, const uint32 *ordinals, const uint32 *frequencies,
                                uint32 count) {
    auto *list = allocate<ListCursor>(1);
    memset(list, 0, offsetof(ListCursor, ordinals));
    list->reader = reader;
    list->documents = count;
    list->blocks = block_count(count);
    list->memory_ordinals = ordinals;
    list->memory_frequencies = frequencies;
    list->heads = allocate_zeroed<postings::BlockHead>(list->blocks + 1);
    for (uint32 i = 0; i < list->blocks; i++)
        list->heads[i].last = ordinals[Min((i + 1) * postings::kBlockPostings, count) - 1];
    list->block = kNoBlock;
    return list;
}

ListCursor *open_list(RunReader *reader, const ListPlace &place) {
    if (place.documents == 0)
        return nullptr;
    if (place.documents == 1) {
        auto *one = allocate<uint32>(2);
        one[0] = place.ordinal;
        one[1] = place.term_frequency;
        return open_list_in_memory(reader, &one[0], &one[1], 1);
    }
    auto *list = allocate<ListCursor>(1);
    memset(list, 0, offsetof(ListCursor, ordinals));
    list->reader = reader;
    list->documents = static_cast<uint32>(place.documents);
    list->blocks = block_count(list->documents);
    list->start = place.start;
    list->data_bytes = place.bytes;
    list->page = &reader->posting_pages[reader->lists_opened++ % kPostingPages];
    list->block = kNoBlock;
    list->is_short = list->blocks == 1;
    list->heads = allocate<postings::BlockHead>(list->blocks);
    if (list->is_short) {
        uint8 head[kShortListHead] = {};
        if (list->data_bytes < kShortListHead)
            report_list(list);
        if (!copy_bytes(list, 0, sizeof(head), head))
            list->blocks = 0;
        list->heads[0] = {UINT32_MAX, kShortListHead, 0, head[0], head[1]};
        // The end of the list is known once it is read.
        if (load_block(list, 0))
            list->heads[0].last = list->ordinals[list->count - 1];
        return list;
    }
    const uint64 head_bytes = list->blocks * sizeof(postings::BlockHead);
    if (list->data_bytes < head_bytes)
        report_list(list);
    list->data_bytes -= head_bytes;
    if (!copy_bytes(list, list->data_bytes, head_bytes, list->heads))
        list->blocks = 0;
    if (!are_heads_valid(list))
        report_list(list);
    return list;
}

void close_list(ListCursor *list) {
    pfree(list->heads);
    pfree(list);
}

static void pad_ordinals(ListCursor *list) {
    std::fill(list->ordinals + list->count, list->ordinals + postings::kBlockPostings, UINT32_MAX);
}

static void load_memory_block(ListCursor *list, uint32 block) {
    const uint32 first = block * postings::kBlockPostings;
    list->count = Min(list->documents - first, postings::kBlockPostings);
    memcpy(list->ordinals, list->memory_ordinals + first, list->count * sizeof(uint32));
}

bool load_block(ListCursor *list, uint32 block) {
    if (block != kNoBlock && block == list->block) {
        list->at = 0;
        return true;
    }
    list->block = Min(block, list->blocks);
    list->at = 0;
    list->count = 0;
    if (block >= list->blocks)
        return false;
    if (list->memory_ordinals != nullptr) {
        load_memory_block(list, block);
        pad_ordinals(list);
        return true;
    }
    const postings::BlockHead &head = list->heads[block];
    const uint64 end = block + 1 < list->blocks ? list->heads[block + 1].offset : list->data_bytes;
    const uint64 length = end - head.offset;
    const uint32 count = Min(list->documents - block * postings::kBlockPostings, postings::kBlockPostings);
    const uint32 frequency_bytes = postings::packed_bytes(count, head.frequency_bits);
    if (end < head.offset || length > postings::kMaxBlockBytes || head.frequency_bits > 31 ||
        frequency_bytes > length)
        report_list(list);
    if (!copy_bytes(list, head.offset, length, list->bytes)) {
        list->block = list->blocks;
        return false;
    }
    list->frequency_offset = static_cast<uint32>(length) - frequency_bytes;
    const uint64 first = block == 0 ? 0 : uint64{list->heads[block - 1].last} + 1;
    if (!postings::decode_gaps(static_cast<postings::Codec>(list->reader->header.codec), list->bytes,
                               list->frequency_offset, count, head.parameter, list->ordinals) ||
        !postings::add_gaps(list->ordinals, count, first) ||
        list->ordinals[count - 1] >= list->reader->run.entries ||
        (!list->is_short && list->ordinals[count - 1] != head.last))
        report_list(list);
    list->count = count;
    pad_ordinals(list);
    return true;
}

uint32 find_block(const ListCursor *list, uint32 block, uint32 ordinal) {
    // Near blocks are tried first, because callers mostly move forward by little.
    uint32 step = 1;
    uint32 low = block;
    while (low < list->blocks && list->heads[low].last < ordinal) {
        block = low + 1;
        low += step;
        step *= 2;
    }
    const uint32 high = Min(low, list->blocks);
    const postings::BlockHead *found =
        std::lower_bound(list->heads + block, list->heads + high, ordinal,
                         [](const postings::BlockHead &head, uint32 wanted) { return head.last < wanted; });
    return static_cast<uint32>(found - list->heads);
}

static constexpr uint32 kNearPostings = 8;

bool seek_ordinal(ListCursor *list, uint32 ordinal) {
    if (list->block == kNoBlock || (list->block < list->blocks && list->heads[list->block].last < ordinal)) {
        if (!load_block(list, find_block(list, list->block == kNoBlock ? 0 : list->block, ordinal)))
            return false;
    } else if (at_end(list)) {
        return false;
    }
    // The next postings are tried first, because callers mostly move forward by little.
    const uint32 *at = list->ordinals + list->at;
    const uint32 *end = list->ordinals + list->count;
    for (const uint32 *nearby = Min(at + kNearPostings, end); at < nearby; at++)
        if (*at >= ordinal)
            break;
    if (at < end && *at < ordinal)
        at = std::lower_bound(at, end, ordinal);
    list->at = static_cast<uint32>(at - list->ordinals);
    return true;
}

}  // namespace pg_gpu::text
