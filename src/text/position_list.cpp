#include "text/position_list.h"

namespace pg_gpu::text {

static uint64 section_bytes(const RunReader *reader) {
    return uint64{position_section(reader->run).pages} * storage::kContentBytes;
}

[[noreturn]] static void report_positions(const RunReader *reader, uint64 place) {
    const storage::Section section = position_section(reader->run);
    const auto page = static_cast<uint32>(place / storage::kContentBytes);
    report_damage(reader, section.first_page + (page < section.pages ? page : 0),
                  "A lexeme's positions are damaged.");
}

static PinnedPage *take_page(RunReader *reader) {
    return &reader->position_pages[reader->lists_opened % kPostingPages];
}

PositionBytes single_positions(RunReader *reader, const ListPlace &place, uint8 *room) {
    if (!reader->has_positions)
        return kUnknownBytes;
    if (place.inline_position_bytes > 0)
        return {place.inline_positions, place.inline_position_bytes};
    const uint64 all = section_bytes(reader);
    if (place.position_place >= all)
        report_positions(reader, place.position_place);
    const uint64 length = Min(all - place.position_place, uint64{kMaxPositionBytes});
    if (!copy_section_bytes(reader, take_page(reader), position_section(reader->run), place.position_place,
                            length, room))
        return kUnknownBytes;
    const uint8 *end = skip_positions(room, room + length, place.term_frequency);
    if (end == nullptr)
        report_positions(reader, place.position_place);
    return {room, static_cast<uint32>(end - room)};
}

PositionList *open_positions(const ListCursor *list, const ListPlace &place) {
    RunReader *reader = list->reader;
    auto *positions = allocate<PositionList>(1);
    memset(positions, 0, offsetof(PositionList, single));
    positions->list = list;
    positions->place = place;
    positions->page = take_page(reader);
    positions->block = kNoBlock;
    positions->start = place.position_place;
    if (place.documents == 1)
        return positions;
    positions->start = 0;
    const uint32 blocks = block_count(place.documents);
    uint8 start[kPositionStartBytes] = {};
    positions->ends = allocate_zeroed<PositionEnd>(blocks);
    const storage::Section &section = reader->run.sections[kPostingSection];
    const uint64 index = place.start + place.bytes;
    if (!copy_section_bytes(reader, list->page, section, index, sizeof(start), start) ||
        !copy_section_bytes(reader, list->page, section, index + sizeof(start), blocks * sizeof(PositionEnd),
                            positions->ends))
        return positions;
    for (uint32 i = 0; i < kPositionStartBytes; i++)
        positions->start |= uint64{start[i]} << (8 * i);
    bool ascending = true;
    for (uint32 i = 1; i < blocks; i++)
        ascending = ascending & (positions->ends[i] >= positions->ends[i - 1]);
    const uint64 all = section_bytes(reader);
    if (!ascending || positions->start > all || positions->ends[blocks - 1] > all - positions->start)
        report_positions(reader, positions->start);
    return positions;
}

void close_positions(PositionList *positions) {
    if (positions->bytes != nullptr)
        pfree(positions->bytes);
    if (positions->ends != nullptr)
        pfree(positions->ends);
    pfree(positions);
}

// Returns false when the reader is stale.
static bool load_positions(PositionList *positions) {
    const ListCursor *list = positions->list;
    const uint32 begin = list->block == 0 ? 0 : positions->ends[list->block - 1];
    positions->block = list->block;
    positions->number = 0;
    positions->at = 0;
    positions->length = positions->ends[list->block] - begin;
    if (positions->length > postings::kBlockPostings * kMaxPositionBytes)
        report_positions(list->reader, positions->start);
    if (positions->length > positions->room) {
        positions->room = positions->length;
        if (positions->bytes != nullptr)
            pfree(positions->bytes);
        positions->bytes = allocate<uint8>(positions->room);
    }
    return copy_section_bytes(list->reader, positions->page, position_section(list->reader->run),
                              positions->start + begin, positions->length, positions->bytes);
}

PositionBytes position_bytes(PositionList *positions) {
    const ListCursor *list = positions->list;
    if (list->reader->stale)
        return kUnknownBytes;
    if (positions->ends == nullptr)
        return single_positions(list->reader, positions->place, positions->single);
    if ((positions->block != list->block || list->at < positions->number) && !load_positions(positions))
        return kUnknownBytes;
    const uint8 *end = positions->bytes + positions->length;
    for (;;) {
        const uint8 *at = positions->bytes + positions->at;
        const uint8 *behind = skip_positions(at, end, frequency_at(list, positions->number));
        if (behind == nullptr)
            report_positions(list->reader, positions->start);
        if (positions->number == list->at)
            return {at, static_cast<uint32>(behind - at)};
        positions->number++;
        positions->at = static_cast<uint32>(behind - positions->bytes);
    }
}

}  // namespace pg_gpu::text
