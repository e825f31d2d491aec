// Strings of runs: numbers for them, and back.
#include <algorithm>
#include <cstring>

#include "server/requests/results.h"
#include "server/requests/run_set.h"
#include "server/requests/space_members.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {

ListedMembers read_members(const TransferBuffer &buffer, const protocol::ArrayPlace &array,
                           const RunSet &runs) {
    if (array.count > protocol::max_elements) {
        refuse("a code space has too many members");
    }
    const auto *listed = buffer.part<protocol::SpaceMemberPlace>(array.offset, array.count);
    std::vector<protocol::SpaceMemberPlace> places(array.count);
    if (array.count > 0) {
        std::memcpy(places.data(), listed, array.count * sizeof(*listed));
    }
    return take_members(std::move(places), runs);
}

ListedMembers take_members(std::vector<protocol::SpaceMemberPlace> places, const RunSet &runs) {
    ListedMembers read;
    read.places = std::move(places);
    for (const protocol::SpaceMemberPlace &place : read.places) {
        if (place.run >= runs.size()) {
            refuse("a member of a code space is none of the request's runs");
        }
        const std::shared_ptr<const RunStrings> &strings = runs.mirror(place.run)->strings;
        read.are_there = read.are_there && strings != nullptr && strings->has(place.column);
        read.members.push_back({strings, place.column});
    }
    return read;
}

std::shared_ptr<const CodeSpace> space_of(Work &work, const ListedMembers &listed) {
    if (!listed.are_there) {
        throw Failure{make_status(StatusCode::out_of_memory, "the strings of a run are not in memory")};
    }
    const CodeSpaces::Members &members = listed.members;
    Engine &host = work.server().engines().host();
    return work.server().mirrors().spaces().get(*work.stream, members, [&] {
        std::shared_ptr<const CodeSpace> space;
        check(with_room_on(work, strings_engine, host.memory(), [&] {
            return host.strings()->make_space(*work.stream, members.data(), members.size(), &space);
        }));
        return space;
    });
}

namespace {

// The session may change its own strings meanwhile, so they are copied before they are compared.
class ReceivedStrings {
  public:
    ReceivedStrings(MemoryBudget &memory, const TransferBuffer &buffer,
                    const protocol::NumberStrings &request)
        : count_(request.count), bytes_(memory, request.byte_count), ends_(memory, request.count) {
        const char *bytes = buffer.part<char>(request.bytes, request.byte_count);
        const std::uint64_t *ends = buffer.part<std::uint64_t>(request.ends, request.count);
        if (request.byte_count > 0) {
            std::memcpy(bytes_.data(), bytes, request.byte_count);
        }
        std::uint64_t begin = 0;
        for (std::uint64_t i = 0; i < count_; ++i) {
            std::memcpy(ends_.data() + i, ends + i, sizeof(*ends));
            if (ends_.data()[i] < begin || ends_.data()[i] > request.byte_count) {
                refuse("strings lie outside of their bytes");
            }
            begin = ends_.data()[i];
        }
    }
    StringList view() const noexcept { return {bytes_.data(), ends_.data(), count_}; }

  private:
    const std::uint64_t count_;
    Scratch<char> bytes_;
    Scratch<std::uint64_t> ends_;
};

}  // namespace

void handle_number_strings(Work &work, const protocol::NumberStrings &request,
                           protocol::NumberStringsReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    MemoryBudget &memory = work.server().engines().host().memory();
    Results results(buffer, request.results, request.capacity);
    if (request.count > buffer.bytes() || request.byte_count > buffer.bytes()) {
        refuse("there are more strings than the transfer buffer has room for");
    }
    const ListedMembers listed = read_members(buffer, request.members, runs);
    if (!listed.are_there) {
        return;
    }
    reply.needed = request.count * sizeof(std::uint64_t);
    std::uint64_t *numbers = results.take<std::uint64_t>(request.count, &reply.numbers_at);
    const ReceivedStrings received(memory, buffer, request);
    const std::shared_ptr<const CodeSpace> space = space_of(work, listed);
    SpaceExtension extension;
    const Scratch<std::uint64_t> own_numbers(memory, request.count);
    check(space->extend(*work.stream, received.view(), &extension, own_numbers.data()));
    std::copy_n(own_numbers.data(), request.count, numbers);
    reply.entries = space->entries();
    reply.base = extension.base;
    reply.shift = extension.shift;
    reply.is_numbered = 1;
    work.items = request.count;
    work.bytes = request.byte_count;
}

// A run's strings are in one place, whichever engines have its rows.
void spread_number_strings(Spread &spread, const protocol::NumberStrings &request,
                           protocol::NumberStringsReply &reply) {
    spread.run_one(0, [&](Work &work) { handle_number_strings(work, request, reply); });
}

void handle_read_strings(Work &work, const protocol::ReadStrings &request,
                         protocol::ReadStringsReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    Results results(buffer, request.results, request.capacity);
    const std::uint64_t *numbers = buffer.part<std::uint64_t>(request.numbers, request.count);
    reply.needed = request.count * sizeof(std::uint64_t);
    std::uint64_t *ends = results.take<std::uint64_t>(request.count, &reply.ends_at);
    const std::uint64_t room = results.room<char>();
    char *bytes = results.rest<char>();
    const std::shared_ptr<const CodeSpace> space =
        space_of(work, read_members(buffer, request.members, runs));
    std::uint64_t needed = 0;
    check(space->read(*work.stream, numbers, request.count, bytes, room, ends, &reply.done, &needed));
    if (reply.done == 0 && request.count > 0) {
        reply.needed = results.used() + needed;
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    static_cast<void>(results.take<char>(room, &reply.bytes_at));
    reply.needed = results.used();
    work.items = reply.done;
    work.bytes = reply.needed;
}

void spread_read_strings(Spread &spread, const protocol::ReadStrings &request,
                         protocol::ReadStringsReply &reply) {
    spread.run_one(0, [&](Work &work) { handle_read_strings(work, request, reply); });
}

}  // namespace gpu_engine::server
