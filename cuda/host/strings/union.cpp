#include "host/strings/union.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu_engine/column.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::host {
namespace {

// A thread merges about so many entries of all members before it looks whether it is cancelled.
constexpr std::uint64_t entries_a_part = 32768;
constexpr std::uint64_t samples_a_part = 8;

struct Part {
    std::vector<std::uint64_t> first;  // code, by member
    std::vector<std::uint64_t> end;
    std::uint64_t room = 0;  // in front of it, entries of all members
    std::uint64_t entries = 0;
    std::uint64_t number = 0;  // its first entry's
};

// Merges members' entries from `first` to `end` by a tree of losers. Of each it is known how many bytes it
// shares with the entry that came out last. So a comparison looks at bytes only where both share equally
// many, and only at those behind (Bingmann, Eberle, Sanders: "Engineering parallel string sorting", 2017).
class EntryMerge {
  public:
    EntryMerge(const std::vector<StringArea> &areas, const Part &part) {
        for (std::size_t member = 0; member < areas.size(); ++member) {
            const std::uint64_t count = part.end[member] - part.first[member];
            sources_.push_back({EntryCursor(areas[member], part.first[member]), count});
            if (count > 0) {
                sources_.back().cursor.next();
            }
        }
        while (leaves_ < sources_.size()) {
            leaves_ *= 2;
        }
        losers_.resize(leaves_);
        winner_ = play(1);
    }

    bool is_at_end() const noexcept { return is_empty(winner_); }
    std::size_t member() const noexcept { return winner_.source; }
    std::uint64_t code() const noexcept { return sources_[winner_.source].cursor.code(); }
    std::uint64_t length() const noexcept { return entry(winner_).size(); }
    // Returns how much it shares with the entry that came before.
    std::uint64_t shared() const noexcept { return winner_.shared; }

    void next() {
        Source &source = sources_[winner_.source];
        if (--source.left > 0) {
            source.cursor.next();
            winner_.shared = source.cursor.shared();
        }
        for (std::size_t node = (leaves_ + winner_.source) / 2; node > 0; node /= 2) {
            contest(&winner_, &losers_[node]);
        }
    }

  private:
    struct Source {
        EntryCursor cursor;
        std::uint64_t left;
    };
    struct Contender {
        std::size_t source;
        std::uint64_t shared;
    };

    bool is_empty(const Contender &contender) const noexcept {
        return contender.source >= sources_.size() || sources_[contender.source].left == 0;
    }
    std::string_view entry(const Contender &contender) const noexcept {
        return sources_[contender.source].cursor.entry();
    }

    Contender play(std::size_t node) {
        if (node >= leaves_) {
            return {node - leaves_, 0};
        }
        Contender winner = play(2 * node);
        losers_[node] = play(2 * node + 1);
        contest(&winner, &losers_[node]);
        return winner;
    }

    void contest(Contender *winner, Contender *loser) {
        if (is_empty(*loser)) {
            return;
        }
        if (is_empty(*winner) || loser->shared > winner->shared) {
            std::swap(*winner, *loser);
            return;
        }
        if (loser->shared < winner->shared) {
            return;
        }
        const std::string_view one = entry(*winner);
        const std::string_view other = entry(*loser);
        std::uint64_t shared = winner->shared;
        const std::uint64_t both = std::min(one.size(), other.size());
        while (shared + sizeof(std::uint64_t) <= both &&
               std::memcmp(one.data() + shared, other.data() + shared, sizeof(std::uint64_t)) == 0) {
            shared += sizeof(std::uint64_t);
        }
        while (shared < both && one[shared] == other[shared]) {
            ++shared;
        }
        const bool is_other_first = shared < both ? static_cast<unsigned char>(other[shared]) <
                                                        static_cast<unsigned char>(one[shared])
                                                  : other.size() < one.size();
        (is_other_first ? winner : loser)->shared = shared;
        if (is_other_first) {
            std::swap(*winner, *loser);
        }
    }

    std::vector<Source> sources_;
    std::size_t leaves_ = 1;
    std::vector<Contender> losers_;
    Contender winner_{};
};

// Returns the first entries of blocks here and there, in order. They lie in the dictionaries.
std::vector<std::string_view> take_samples(const std::vector<StringArea> &areas, std::uint64_t wanted) {
    std::uint64_t blocks = 0;
    for (const StringArea &area : areas) {
        blocks += (area.entries + string_block - 1) / string_block;
    }
    const std::uint64_t step = std::max<std::uint64_t>(blocks / wanted, 1);
    std::vector<std::string_view> samples;
    std::uint64_t block = step / 2;
    for (const StringArea &area : areas) {
        const std::uint64_t count = (area.entries + string_block - 1) / string_block;
        for (; block < count; block += step) {
            samples.push_back(first_of_block(area, block));
        }
        block -= count;
    }
    std::sort(samples.begin(), samples.end());
    return samples;
}

std::vector<Part> divide(const Workers &workers, const std::vector<StringArea> &areas, std::uint64_t all) {
    const std::uint64_t count = std::max<std::uint64_t>(all / entries_a_part, 1);
    const std::vector<std::string_view> samples = take_samples(areas, count * samples_a_part);
    std::vector<Part> parts(count);
    for (Part &part : parts) {
        part.first.resize(areas.size());
        part.end.resize(areas.size());
    }
    workers.for_pieces(count, 1, [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; ++i) {
            for (std::size_t member = 0; member < areas.size(); ++member) {
                const auto bound = [&](std::uint64_t part) {
                    return part == 0 ? 0
                           : part == count || samples.empty()
                               ? areas[member].entries
                               : find_entry(areas[member], samples[part * samples.size() / count]).code;
                };
                parts[i].first[member] = bound(i);
                parts[i].end[member] = bound(i + 1);
            }
        }
    });
    std::uint64_t room = 0;
    for (Part &part : parts) {
        part.room = room;
        for (std::size_t member = 0; member < areas.size(); ++member) {
            // Dictionaries that aren't in order may contradict themselves here.
            if (part.first[member] > part.end[member]) {
                report_damaged_strings();
            }
            room += part.end[member] - part.first[member];
        }
    }
    return parts;
}

// Merges a part, whose numbers begin at 0 for now.
void merge_part(const std::vector<StringArea> &areas, Part *part, StringUnion *merged,
                std::uint16_t *member) {
    EntryMerge merge(areas, *part);
    std::uint64_t length = 0;
    std::uint64_t entries = 0;
    for (; !merge.is_at_end(); merge.next()) {
        const bool is_repeated = entries > 0 && merge.shared() == length && merge.length() == length;
        if (!is_repeated) {
            length = merge.length();
            member[entries++] = static_cast<std::uint16_t>(merge.member());
        }
        merged->numbers[merge.member()][merge.code()] = static_cast<std::uint32_t>(entries - 1);
    }
    part->entries = entries;
}

}  // namespace

StringUnion unite(MemoryBudget &memory, const Workers &workers, const std::vector<StringArea> &areas) {
    StringUnion merged;
    std::uint64_t all = 0;
    for (const StringArea &area : areas) {
        all += area.entries;
        merged.numbers.emplace_back(memory, area.entries);
    }
    if (all > UINT32_MAX) {
        throw Failure{make_status(StatusCode::invalid_argument, "the dictionaries have too many strings")};
    }
    Buffer<std::uint16_t> member(memory, all);
    std::vector<Part> parts = divide(workers, areas, all);
    workers.for_pieces(parts.size(), 1, [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; ++i) {
            merge_part(areas, &parts[i], &merged, member.data() + parts[i].room);
        }
    });
    for (Part &part : parts) {
        part.number = merged.entries;
        merged.entries += part.entries;
    }
    merged.member = Buffer<std::uint16_t>(memory, merged.entries);
    workers.for_pieces(parts.size(), 1, [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; ++i) {
            const Part &part = parts[i];
            std::copy_n(member.data() + part.room, part.entries, merged.member.data() + part.number);
            for (std::size_t m = 0; m < areas.size(); ++m) {
                std::uint32_t *numbers = merged.numbers[m].data();
                for (std::uint64_t code = part.first[m]; code < part.end[m]; ++code) {
                    numbers[code] += static_cast<std::uint32_t>(part.number);
                }
            }
        }
    });
    return merged;
}

}  // namespace gpu_engine::host
