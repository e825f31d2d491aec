#include "column/query/string_space.h"

#include "column/query/engine_request.h"
#include "column/query/query_message.h"
#include "memory.h"
#include "request_kinds.h"
#include "residency/submission.h"

namespace pg_gpu::column {

using namespace client;

static constexpr RequestKind kKind = RequestKind::RunQuery;

namespace {

// Both requests name these.
struct Members {
    const RunSet **sets;
    int set_count;
    const Choice *choice;
    SpaceMembers members;
};

}  // namespace

static Members members_of(const StringSpace &space) {
    auto *tables = allocate<EngineTable>(size_t{space.table_count} + 1);
    auto *columns = allocate<uint32>(size_t{space.table_count} + 1);
    Members members = {};
    members.sets = allocate<const RunSet *>(size_t{space.table_count} + 1);
    for (uint32 i = 0; i < space.table_count; i++) {
        const QueryTable &table = space.tables[i].table;
        tables[i] = engine_table(table);
        columns[i] = space.tables[i].column_count;
        if (table.rows == nullptr)
            continue;
        members.sets[members.set_count++] = &table.rows->set;
        members.choice = &table.rows->choice;
    }
    members.members = members_of_space(tables, columns, space.table_count, space.number);
    return members;
}

// ---- numbers ---------------------------------------------------------------------------------------------

// Numbering a string, or reading an entry, takes about so many microseconds.
static constexpr double kMicrosecondsAString = 0.5;

static bool take_numbers(const protocol::NumberStringsReply &reply, uint64 count, StringSpace *space,
                         uint64 *numbers) {
    if (reply.is_numbered == 0)
        return false;
    if (!lies_in_buffer(reply.numbers_at, count * sizeof(uint64)) || reply.shift >= 64)
        return fail(RequestFailure::Refused, "numbers of strings lie outside of the transfer buffer");
    memcpy(numbers, buffer_at(reply.numbers_at), count * sizeof(uint64));
    space->entries = reply.entries;
    space->base = reply.base;
    space->shift = reply.shift;
    return true;
}

bool number_strings(StringSpace *space, const Bytes *strings, uint64 count, uint64 *numbers) {
    const Members members = members_of(*space);
    if (members.members.count == 0)
        return false;
    uint64 bytes = 0;
    auto *ends = allocate<uint64>(count + 1);
    for (uint64 i = 0; i < count; i++)
        ends[i] = bytes += strings[i].length;
    const Input inputs[] = {
        {members.members.places, 0, members.members.count * sizeof(*members.members.places)},
        {ends, 0, count * sizeof(*ends)},
        {nullptr, 0, bytes}};
    const PreparedRequest prepared = {kKind, inputs, lengthof(inputs), count * sizeof(uint64),
                                      kMicrosecondsAString * static_cast<double>(count)};
    const auto set_inputs = [&](protocol::NumberStrings *message, const client::Layout &at, uint64) {
        char *to = static_cast<char *>(buffer_at(at.inputs[2]));
        for (uint64 i = 0; i < count; i++) {
            memcpy(to, strings[i].data, strings[i].length);
            to += strings[i].length;
        }
        message->members = {at.inputs[0], members.members.count, 0};
        message->ends = at.inputs[1];
        message->count = count;
        message->bytes = at.inputs[2];
        message->byte_count = bytes;
    };
    client::Layout layout;
    protocol::NumberStringsReply reply;
    uint64 items = 1;
    return submit<protocol::NumberStrings>(prepared, RequestedSets{members.sets, members.set_count},
                                           *members.choice, protocol::Message::number_strings, set_inputs,
                                           &items, &layout, &reply) &&
           take_numbers(reply, count, space, numbers);
}

// ---- entries ---------------------------------------------------------------------------------------------

// A request is about so many strings at most, each of about so many bytes.
static constexpr uint64 kStringsAtOnce = 65536;
static constexpr uint64 kBytesOfString = 64;

static bool take_strings(const protocol::ReadStringsReply &reply, uint64 count, uint64 first, TakeString take,
                         void *context) {
    const bool is_within = reply.done > 0 && reply.done <= count &&
                           lies_in_buffer(reply.ends_at, reply.done * sizeof(uint64)) &&
                           lies_in_buffer(reply.bytes_at, 0);
    const auto *ends = is_within ? reinterpret_cast<const uint64 *>(buffer_at(reply.ends_at)) : nullptr;
    if (!is_within || !lies_in_buffer(reply.bytes_at, ends[reply.done - 1]))
        return fail(RequestFailure::Refused, "strings lie outside of the transfer buffer");
    const char *bytes = static_cast<const char *>(buffer_at(reply.bytes_at));
    uint64 begin = 0;
    for (uint64 i = 0; i < reply.done; i++) {
        if (ends[i] < begin || ends[i] > ends[reply.done - 1])
            return fail(RequestFailure::Refused, "strings lie outside of the transfer buffer");
        take(context, first + i, {bytes + begin, static_cast<size_t>(ends[i] - begin)});
        begin = ends[i];
    }
    return true;
}

bool read_strings(const StringSpace &space, const uint64 *numbers, uint64 count, TakeString take,
                  void *context) {
    const Members members = members_of(space);
    auto *entries = allocate<uint64>(Min(count, kStringsAtOnce) + 1);
    uint64 at_once = kStringsAtOnce;
    for (uint64 first = 0; first < count;) {
        CHECK_FOR_INTERRUPTS();
        const uint64 here = Min(count - first, at_once);
        for (uint64 i = 0; i < here; i++)
            entries[i] = (numbers[first + i] - space.base) >> space.shift;
        const Input inputs[] = {
            {members.members.places, 0, members.members.count * sizeof(*members.members.places)},
            {entries, 0, here * sizeof(*entries)}};
        const PreparedRequest prepared = {kKind, inputs, lengthof(inputs),
                                          here * (sizeof(uint64) + kBytesOfString),
                                          kMicrosecondsAString * static_cast<double>(here)};
        const auto set_inputs = [&](protocol::ReadStrings *message, const client::Layout &at, uint64) {
            message->members = {at.inputs[0], members.members.count, 0};
            message->numbers = at.inputs[1];
            message->count = here;
        };
        client::Layout layout;
        protocol::ReadStringsReply reply;
        uint64 items = 1;
        if (!submit<protocol::ReadStrings>(prepared, RequestedSets{members.sets, members.set_count},
                                           *members.choice, protocol::Message::read_strings, set_inputs,
                                           &items, &layout, &reply) ||
            !take_strings(reply, here, first, take, context))
            return false;
        first += reply.done;
        // As many as had room in the buffer this time.
        at_once = Max(reply.done, uint64{1});
    }
    pfree(entries);
    return true;
}

}  // namespace pg_gpu::column
