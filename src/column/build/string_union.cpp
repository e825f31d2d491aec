// The union of the inputs' dictionaries of strings, written as it goes.
#include <algorithm>

#include "column/build/dictionary_merge.h"
#include "sort.h"
#include "varint.h"

namespace pg_gpu::column {

namespace {

struct StringInput {
    InputColumn *column;
    const ChunkColumn *chunk;
    uint64 at;
    StringCursor cursor;
    bool from_run;
    Bytes value;
    uint64 number;
};

}  // namespace

// Goes to the next string that is in use; false at the end.
static bool next_input_string(StringInput *input) {
    for (;;) {
        if (input->from_run) {
            if (!next_string(&input->cursor))
                return false;
            input->value = input->cursor.value;
            input->number = input->cursor.ordinal;
        } else {
            if (input->at == input->chunk->strings.count)
                return false;
            input->number = input->chunk->sorted[input->at++];
            input->value = string_at(input->chunk->strings, static_cast<uint32>(input->number));
        }
        if (input->column->used == nullptr || input->column->used[input->number])
            return true;
    }
}

static bool later_string(const StringInput *a, const StringInput *b) {
    return compare_bytes(a->value, b->value) > 0;
}

namespace {

struct StringWriter {
    StreamWriter *stream;
    StringUnion *merged;
    uint64 block_room;
    char *previous;
    size_t previous_length;
    size_t previous_room;
};

}  // namespace

static void write_string(StringWriter *writer, const Bytes &value) {
    StringUnion *merged = writer->merged;
    size_t shared = 0;
    if (merged->count % kDictionaryBlock == 0) {
        if (merged->block_count == writer->block_room) {
            writer->block_room *= 2;
            merged->blocks = reallocate(merged->blocks, writer->block_room);
        }
        merged->blocks[merged->block_count++] = merged->bytes;
        CHECK_FOR_INTERRUPTS();
    } else {
        const size_t most = Min(writer->previous_length, value.length);
        while (shared < most && writer->previous[shared] == value.data[shared])
            shared++;
    }
    uint8 head[2 * kMaxVarintBytes];
    uint32 head_bytes = write_varint(head, shared);
    head_bytes += write_varint(head + head_bytes, value.length - shared);
    append_bytes(writer->stream, head, head_bytes);
    append_bytes(writer->stream, value.data + shared, value.length - shared);
    merged->bytes += head_bytes + value.length - shared;
    merged->whole_bytes += value.length;
    merged->longest = Max(merged->longest, uint64{value.length});
    merged->count++;
    if (value.length > writer->previous_room) {
        writer->previous_room = value.length * 2;
        pfree(writer->previous);
        writer->previous = allocate<char>(writer->previous_room);
    }
    memcpy(writer->previous, value.data, value.length);
    writer->previous_length = value.length;
}

static bool same_as_written(const StringWriter &writer, const Bytes &value) {
    return value.length == writer.previous_length && memcmp(value.data, writer.previous, value.length) == 0;
}

void unite_strings(InputColumn *columns, const Input *inputs, int count, int number, StreamWriter *stream,
                   StringUnion *merged) {
    *merged = {};
    StringWriter writer = {stream, merged, 64, allocate<char>(256), 0, 256};
    merged->blocks = allocate<uint64>(writer.block_room);
    auto *sources = allocate_zeroed<StringInput>(count);
    auto **heap = allocate<StringInput *>(count);
    int live = 0;
    for (int i = 0; i < count; i++) {
        StringInput *source = &sources[i];
        source->column = &columns[i];
        source->from_run = inputs[i].chunk == nullptr && columns[i].formatted == nullptr;
        if (source->from_run)
            begin_strings(&source->cursor, inputs[i].reader, number);
        else
            source->chunk =
                columns[i].formatted != nullptr ? columns[i].formatted : &inputs[i].chunk->column[number];
        if (next_input_string(source))
            heap[live++] = source;
    }
    std::make_heap(heap, heap + live, later_string);
    while (live > 0) {
        StringInput *source = heap[0];
        if (merged->count == 0 || !same_as_written(writer, source->value))
            write_string(&writer, source->value);
        source->column->map[source->number] = merged->count - 1;
        if (!next_input_string(source))
            heap[0] = heap[--live];
        settle_first(heap, live, later_string);
    }
    align_stream(stream);
    for (int i = 0; i < count; i++) {
        if (!sources[i].from_run)
            continue;
        if (inputs[i].reader->stale)
            report_stale(inputs[i].reader);
        end_strings(&sources[i].cursor);
    }
    pfree(sources);
    pfree(heap);
}

}  // namespace pg_gpu::column
