// Which entries of a dictionary of strings pass tests.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "server/requests/results.h"
#include "server/requests/run_set.h"
#include "server/requests/space_members.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {
namespace {

using protocol::StringTestKind;

constexpr std::uint32_t max_tests = 4096;

// A test as the session gave it, which may change its memory meanwhile.
struct ReceivedTest {
    StringTestKind kind{};
    bool is_negated = false;
    std::uint32_t group = 0;
    std::string string;
};

std::vector<ReceivedTest> read_tests(const TransferBuffer &buffer, const protocol::ArrayPlace &array) {
    if (array.count > max_tests) {
        refuse("strings are tested by too much");
    }
    const auto *listed = buffer.part<protocol::StringTestPlace>(array.offset, array.count);
    std::vector<ReceivedTest> tests;
    for (std::uint32_t i = 0; i < array.count; ++i) {
        protocol::StringTestPlace place{};
        std::memcpy(&place, listed + i, sizeof(place));
        const char *bytes = buffer.part<char>(place.offset, place.bytes);
        tests.push_back({static_cast<StringTestKind>(place.kind), place.is_negated != 0, place.group,
                         std::string(bytes, place.bytes)});
    }
    return tests;
}

// Bits of a dictionary's entries.
class EntryBits {
  public:
    EntryBits(Work &work, const CodeSpace &space)
        : work_(work),
          space_(space),
          words_((space.entries() + 63) / 64),
          all_(memory(), words_),
          group_(memory(), words_) {
        std::fill_n(all_.data(), words_, UINT64_MAX);
    }

    std::uint64_t words() const noexcept { return words_; }
    const std::uint64_t *data() const noexcept { return all_.data(); }

    void begin_group() { std::fill_n(group_.data(), words_, 0); }
    void end_group() {
        for (std::uint64_t i = 0; i < words_; ++i) {
            all_.data()[i] &= group_.data()[i];
        }
    }
    // Adds the entries that pass a test to those of the group.
    void add(const ReceivedTest &test) {
        std::uint64_t below = 0;
        bool is_entry = false;
        switch (test.kind) {
            case StringTestKind::like:
            case StringTestKind::like_bytes:
                add_like(test);
                return;
            case StringTestKind::equal:
                find(test, &below, &is_entry);
                add_range(below, below + (is_entry ? 1 : 0), test.is_negated);
                return;
            case StringTestKind::below:
            case StringTestKind::at_most:
                find(test, &below, &is_entry);
                add_range(0, below + (is_entry && test.kind == StringTestKind::at_most ? 1 : 0),
                          test.is_negated);
                return;
        }
        refuse("there is no such test of strings");
    }
    void write(std::uint64_t *words) const {
        for (std::uint64_t i = 0; i < words_; ++i) {
            words[i] = i + 1 == words_ && space_.entries() % 64 != 0
                           ? all_.data()[i] & ((std::uint64_t(1) << (space_.entries() % 64)) - 1)
                           : all_.data()[i];
        }
    }

  private:
    MemoryBudget &memory() const { return work_.server().engines().host().memory(); }
    void find(const ReceivedTest &test, std::uint64_t *below, bool *is_entry) const {
        check(space_.find(*work_.stream, test.string, below, is_entry));
    }
    void add_like(const ReceivedTest &test) {
        const StringFunction function = {StringFunctionKind::like, test.kind == StringTestKind::like,
                                         test.string};
        std::shared_ptr<const StringResult> result;
        check(with_room_on(work_, strings_engine, memory(),
                           [&] { return space_.evaluate(*work_.stream, function, &result); }));
        const std::uint64_t *bits = result->bits();
        for (std::uint64_t i = 0; i < words_; ++i) {
            group_.data()[i] |= test.is_negated ? ~bits[i] : bits[i];
        }
    }
    void add_range(std::uint64_t first, std::uint64_t end, bool is_negated) {
        const auto add_bits = [&](std::uint64_t from, std::uint64_t to) {
            for (; from < to && from % 64 != 0; ++from) {
                group_.data()[from / 64] |= std::uint64_t(1) << (from % 64);
            }
            for (; from + 64 <= to; from += 64) {
                group_.data()[from / 64] = UINT64_MAX;
            }
            for (; from < to; ++from) {
                group_.data()[from / 64] |= std::uint64_t(1) << (from % 64);
            }
        };
        if (is_negated) {
            add_bits(0, first);
            add_bits(end, space_.entries());
        } else {
            add_bits(first, end);
        }
    }

    Work &work_;
    const CodeSpace &space_;
    const std::uint64_t words_;
    Scratch<std::uint64_t> all_;
    Scratch<std::uint64_t> group_;
};

}  // namespace

void handle_match_strings(Work &work, const protocol::MatchStrings &request,
                          protocol::MatchStringsReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const ListedMembers listed = take_members({request.member}, runs);
    if (!listed.are_there) {
        return;
    }
    const std::vector<ReceivedTest> tests = read_tests(work.connection.buffer, request.tests);
    const std::shared_ptr<const CodeSpace> space = space_of(work, listed);
    EntryBits bits(work, *space);
    for (std::size_t i = 0; i < tests.size();) {
        const std::uint32_t group = tests[i].group;
        bits.begin_group();
        for (; i < tests.size() && tests[i].group == group; ++i) {
            bits.add(tests[i]);
        }
        bits.end_group();
    }
    Results results(work.connection.buffer, request.results, request.capacity);
    reply.needed = bits.words() * sizeof(std::uint64_t);
    bits.write(results.take<std::uint64_t>(bits.words(), &reply.words_at));
    reply.words = bits.words();
    work.items = space->entries();
    work.bytes = reply.needed;
}

void spread_match_strings(Spread &spread, const protocol::MatchStrings &request,
                          protocol::MatchStringsReply &reply) {
    spread.run_one(0, [&](Work &work) { handle_match_strings(work, request, reply); });
}

}  // namespace gpu_engine::server
